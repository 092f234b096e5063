"""The scripts that make models, with stand-ins for the commands that take hours: does each find what it needs?"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oclgen.bench.config import read_config

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ("words", "gaps", "compilation", "loops")
OCLGEN = """
import argparse, sys, tomllib
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("words", nargs="*")
for name in ("config", "data", "model", "out", "workers"):
    parser.add_argument(f"--{name}")
parser.add_argument("--resume", action="store_true")
asked, _ = parser.parse_known_intermixed_args()
verb, out = asked.words[0], Path(asked.out)
recipe = tomllib.loads(Path(asked.config).read_text()) if asked.config else {}
data = asked.data or recipe.get("data", {}).get("path")
begun = (out / "settings.json").exists()
missing = [path for path in (data, None if begun else asked.model) if path and not Path(path).is_dir()]
if missing or (verb == "improve" and asked.resume != begun):
    sys.exit(f"oclgen {sys.argv[1:]}: missing {missing}, begun: {begun}")
out.mkdir(parents=True, exist_ok=True)
if verb == "train":
    (out / "best").mkdir(exist_ok=True)
elif verb == "improve":
    if not begun:
        (out / "settings.json").write_text(asked.model)
    loops = next(int(word.split("=")[1]) for word in asked.words if word.startswith("n_loop="))
    for number in range(loops + 1):
        (out / f"iteration-{number}" / "relational").mkdir(parents=True, exist_ok=True)
"""
SHIP = """
import sys
from pathlib import Path

checkpoint, target = map(Path, sys.argv[2:])
if not checkpoint.is_dir():
    sys.exit(f"{checkpoint}: no such checkpoint")
target.mkdir(parents=True, exist_ok=True)
(target / "weights.safetensors").write_text(str(checkpoint))
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    """A folder with the configs and the scripts, and stand-ins for `oclgen` and for `python scripts/ship.py`."""
    for name in ("configs", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "bin").mkdir()
    for name, text in (("oclgen", OCLGEN), ("python", SHIP)):
        (tmp_path / "bin" / name).write_text(f"#!{sys.executable}\n{text}")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def run_script(workshop: Path, script: str, *arguments: str) -> None:
    path = f"{workshop / 'bin'}:{os.environ['PATH']}"
    command = ["sh", f"scripts/{script}.sh", *arguments]
    subprocess.run(command, cwd=workshop, env={**os.environ, "PATH": path}, check=True)


def make_models(workshop: Path) -> None:
    for domain in ("blocksworld", "logistics", "labyrinth", "sokoban"):
        run_script(workshop, "make_model", domain)


def test_the_side_experiments_make_every_model_that_their_configs_name(workshop: Path) -> None:
    make_models(workshop)
    run_script(workshop, "experiments", *EXPERIMENTS)
    for name in ("words", "generalisation", "best_of_n", "self_improvement"):
        config = read_config(ROOT / "configs" / "cpu" / f"{name}.toml")
        domains = {source.domain for source in config.problems}
        named = {run.model for run in config.runs} | {estimate.model for estimate in config.estimates}
        models = {name.format(domain=domain) for name in named for domain in domains}
        assert [model for model in sorted(models) if not (workshop / model).is_dir()] == []


def test_what_is_finished_is_found_again(workshop: Path) -> None:
    for _ in range(2):
        make_models(workshop)
        run_script(workshop, "experiments", *EXPERIMENTS)


def test_longer_loops_of_the_side_experiments_are_not_those_of_the_shipped_model(workshop: Path) -> None:
    make_models(workshop)
    run_script(workshop, "experiments", "loops")
    larger = workshop / "runs" / "improve-sokoban-wide"
    shutil.rmtree(larger)
    run_script(workshop, "make_model", "sokoban")
    assert (larger / "settings.json").read_text() == "runs/improve-sokoban/iteration-1"
