"""The child processes of a benchmark: their commands, their ids, their order."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oclgen.bench.config import read_config
from oclgen.bench.jobs import BenchJob, ended_by, loops_of, model_loops, solve_jobs
from oclgen.bench.problems import BenchProblem
from oclgen.model_folders import PRETRAINED

PROBLEM = BenchProblem("main", "blocksworld", "p", "f", "domain.pddl", "p.pddl")
CONFIG = """
[[problems]]
domain = "blocksworld"
count = 1

[[runs]]
label = "lama"
method = "lama"
"""


def job(folder: Path, more: str = "") -> BenchJob:
    (folder / "config.toml").write_text(CONFIG + more)
    (only,) = solve_jobs(read_config(folder / "config.toml"), [PROBLEM], folder)
    return only


def test_a_run_has_one_search_unless_its_row_says_more(tmp_path: Path) -> None:
    plain, one, two = job(tmp_path), job(tmp_path, "threads = 1\n"), job(tmp_path, "threads = 2\n")
    assert plain == one
    assert plain.command[-2:] == ("--threads", "1")
    assert two.command[-2:] == ("--threads", "2")
    assert two.id != plain.id
    assert "threads" not in plain.line


def test_proofs_come_last_or_a_round_ahead_of_the_runs_that_they_end(tmp_path: Path) -> None:
    problems = [replace(PROBLEM, name=f"{domain}{i}", domain=domain) for domain in "xy" for i in range(3)]
    for more, order in (
        ("", "x0 y0 x1 y1 x2 y2 X0 Y0 X1 Y1 X2 Y2"),
        ("end_runs = true\n", "X0 Y0 X1 Y1 x0 y0 X2 Y2 x1 y1 x2 y2"),
    ):
        (tmp_path / "config.toml").write_text(CONFIG + '[optima]\ntime_limit = "9s"\n' + more)
        jobs = solve_jobs(read_config(tmp_path / "config.toml"), problems, tmp_path)
        names = [job.line["problem"].upper() if job.line["label"] == "lmcut" else job.line["problem"] for job in jobs]
        assert " ".join(names) == order


def test_a_run_ends_at_the_proved_optimum_and_keeps_its_id(tmp_path: Path) -> None:
    plain = job(tmp_path)
    ended = ended_by(plain, {"f": 7})
    assert ended.command == (*plain.command, "--stop-at-length", "7") and ended.id == plain.id
    assert ended_by(plain, {"another": 7}) == plain
    (tmp_path / "config.toml").write_text(CONFIG[: CONFIG.index("[[runs]]")] + '[optima]\ntime_limit = "9s"\n')
    (proof,) = solve_jobs(read_config(tmp_path / "config.toml"), [PROBLEM], tmp_path)
    assert ended_by(proof, {"f": 7}) == proof


@pytest.mark.parametrize(
    ("chain", "loops"),
    [
        ([None], 0),
        ([3, 2, 1, None], 3),
        ([1, 2, 1, None], 3),
        ([1, 2, None], 3),
        ([1, 1, None], 2),
        (["oclgen", None], 1),
        ([2, 1, "oclgen", None], 3),
    ],
)
def test_a_models_loops_are_counted_back_to_its_first_training(chain: list[int | str | None], loops: int) -> None:
    recipe: dict[str, Any] = {}
    for step in reversed(chain):
        before = {"initial": recipe} if recipe else {}
        own = {"improved": {"iteration": step}} if isinstance(step, int) else {}
        recipe = {"teacher": step if isinstance(step, str) else "lama-first", **own, **before}
    assert loops_of(recipe) == loops


def test_the_shipped_models_say_how_many_loops_are_behind_them() -> None:
    """As docs/results.md has it."""
    names = {"blocksworld": 1, "logistics": 3, "labyrinth": 0, "sokoban": 2}
    assert {name: model_loops(PRETRAINED / name) for name in names} == names
