"""The child processes of a benchmark: their commands, their ids, their order."""

from dataclasses import replace
from pathlib import Path

from oclgen.bench.config import read_config
from oclgen.bench.jobs import BenchJob, ended_by, solve_jobs
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
