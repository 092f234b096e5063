"""The tutorial's files and commands, with a toy budget."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TUTORIAL = (ROOT / "docs" / "learn.md").read_text()


def hurried(text: str) -> str:
    """Few problems, a small new one, and a limit on iterations that no slow machine can miss."""
    text = text.replace("range(60)", "range(10)").replace("places=16, parcels=12", "places=3, parcels=1")
    return text.replace("--time 15m", "--time 8s").replace("20s", "10m --iterations 200")


def run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), command
    return done.stdout


def test_the_new_problem_is_twice_as_large_as_any_that_is_learned_from() -> None:
    largest = [int(number) for number in re.findall(r"rng\.randint\(\d+, (\d+)\)", TUTORIAL)]
    new = re.search(r"places=(\d+), parcels=(\d+)", TUTORIAL)
    assert new and list(map(int, new.groups())) == [2 * number for number in largest]


@pytest.mark.slow
def test_the_tutorial_leads_from_an_empty_folder_to_a_valid_plan(tmp_path: Path) -> None:
    text = hurried(TUTORIAL)
    (tmp_path / "courier").mkdir()
    for content, name in re.findall(r"^```\w+\n((?:;|#) (\S+)\n.*?)^```", text, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(content)
    run([sys.executable, "make_problems.py"], tmp_path)
    lines = [line for line in text.splitlines() if line.startswith("oclgen ")]
    assert [line.split()[1] for line in lines] == ["learn", "solve", "validate"]
    learned, solved, validated = (
        run([sys.executable, "-m", "oclgen", *shlex.split(line)[1:]], tmp_path) for line in lines
    )
    assert "next: oclgen solve --model model courier/domain.pddl PROBLEM" in learned
    assert "Solution found!" in solved
    assert "Plan valid" in validated
