"""The evaluation on IPC 2023's learning track: its config, and the problems that we draw for it."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.ipc2023.boards import DIRECTIONS, sokoban
from benchmarks.ipc2023.draw import SIZES, draw
from oclgen.bench.config import read_config

ROOT = Path(__file__).parents[2]
CONSTANTS = {"kitchen", *DIRECTIONS}


def test_the_config_has_both_sets_of_every_domain_with_the_published_lengths() -> None:
    config = read_config(ROOT / "configs" / "ipc2023" / "learning.toml")
    assert {(source.domain, source.set) for source in config.problems} == {
        (domain, name) for domain in SIZES for name in ("easy", "larger")
    }
    published = json.loads((ROOT / "configs" / "ipc2023" / "best_known.json").read_text())
    assert {domain: len(lengths) for domain, lengths in published["lengths"].items()} == dict.fromkeys(SIZES, 30)


@pytest.mark.parametrize("domain", sorted(SIZES))
def test_facts_of_drawn_problems_are_about_declared_objects(domain: str) -> None:
    text = draw(domain, 1, 10, 5)
    head, init, goal = re.split(r"\(:init|\(:goal", text)
    declared = set(re.findall(r"[\w-]+", head.split("(:objects")[1])) | CONSTANTS
    for part in (init, goal):
        facts = re.findall(r"\(([\w-]+(?: [\w-]+)*)\)", part)
        assert facts and {name for fact in facts for name in fact.split()[1:]} <= declared
    assert text.count("(") == text.count(")")


@pytest.mark.parametrize("domain", sorted(SIZES))
def test_the_same_seed_draws_the_same_problem_and_later_ones_are_larger(domain: str) -> None:
    assert draw(domain, 3, 10, 5) == draw(domain, 3, 10, 5) != draw(domain, 3, 10, 6)
    assert len(draw(domain, 1, 10, 5)) < len(draw(domain, 10, 10, 5))


def test_no_box_of_a_board_starts_on_its_goal() -> None:
    text = sokoban(random.Random(1), grid=9, boxes=2)
    start, goal = (set(re.findall(r"\(at (\w+ \w+)\)", part)) for part in text.split("(:goal"))
    assert len(start) == len(goal) == 2 and not start & goal


def test_drawing_needs_the_tracks_domains(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.ipc2023.draw", str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "domain.pddl: missing" in done.stderr


def test_the_script_names_what_is_missing(tmp_path: Path) -> None:
    script = [str(ROOT / "scripts" / "ipc2023.sh")]
    for environment, message in (({}, "IPC2023_LEARNING: must name"), ({"IPC2023_LEARNING": str(tmp_path)}, "missing")):
        asked = {"PATH": "/usr/bin:/bin", **environment}
        done = subprocess.run(script, cwd=tmp_path, env=asked, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and message in done.stderr
