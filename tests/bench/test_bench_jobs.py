"""The child processes of a benchmark: the number of threads is part of the command, and of the id if above 1."""

from pathlib import Path

from oclgen.bench.config import read_config
from oclgen.bench.jobs import BenchJob, solve_jobs
from oclgen.bench.problems import BenchProblem

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
