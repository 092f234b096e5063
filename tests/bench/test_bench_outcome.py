"""What a child leaves is believed only as far as it can be checked."""

import json
from pathlib import Path
from typing import Any

import pytest

from oclgen.bench.config import ProblemSource
from oclgen.bench.jobs import RESULT_NAME, BenchJob
from oclgen.bench.outcome import run_record, shown_model
from oclgen.bench.problems import BenchProblem, absolute, collect
from oclgen.bench.runner import FinishedChild
from oclgen.model_folders import PRETRAINED

PROBLEM = """(define (problem two) (:domain blocksworld-4ops) (:objects b1 b2)
(:init (arm-empty) (on-table b1) (on-table b2) (clear b1) (clear b2)) (:goal (and (on b1 b2))))"""
PLAN = ["pickup b1", "stack b1 b2"]


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> BenchProblem:
    from oclgen.domains import catalog

    folder = tmp_path_factory.mktemp("problem")
    (folder / "domain.pddl").write_text(catalog.load("blocksworld").domain_text)
    (folder / "two.pddl").write_text(PROBLEM)
    return absolute(collect([ProblemSource("blocksworld", folder=str(folder))], folder / "out")[0], folder / "out")


@pytest.fixture
def judge(problem: BenchProblem, tmp_path: Path) -> Any:
    def record(code: int, result: object = None, killed: bool = False, stderr: str = "") -> dict[str, Any]:
        (tmp_path / "stderr").write_text(stderr)
        if result is not None:
            (tmp_path / RESULT_NAME).write_text(result if isinstance(result, str) else json.dumps(result))
        line = {
            "kind": "run",
            "id": "x",
            "label": "gbfs",
            "domain": "blocksworld",
            "problem": "two",
            "time_limit": 10.0,
        }
        job = BenchJob("x", (), 10.0, 1 << 30, line, (problem,))
        return run_record(
            FinishedChild(job, tmp_path, code, killed, 10.2, 9.9, 1000), {"machine": "m", "revision": "r"}
        )

    return record


def said(**changes: Any) -> dict[str, Any]:
    return {
        "domain": "blocksworld-4ops",
        "problem": "two",
        "outcome": "solved",
        "ending": "time",
        "plan": PLAN,
        "length": 2,
        "trace": [[0.5, 4], [0.7, 2]],
        "peak_memory_kb": 2000,
        "seconds": 10.0,
    } | changes


def test_a_valid_plan_is_solved_under_the_configs_names(judge: Any) -> None:
    record = judge(0, said())
    assert (record["outcome"], record["error"], record["length"]) == ("solved", None, 2)
    assert (record["domain"], record["machine"], record["peak_memory_kb"]) == ("blocksworld", "m", 2000)


@pytest.mark.parametrize("code", [11, 12, 20, 21, 22, 23, 24])
def test_no_plan_is_unsolved(judge: Any, code: int) -> None:
    record = judge(code, said(outcome="unsolved", plan=None, length=None, trace=[]))
    assert (record["outcome"], record["error"]) == ("unsolved", None)


def test_what_the_model_cannot_encode_is_unsolved_with_the_reason(judge: Any) -> None:
    record = judge(34, stderr="oclgen: too many objects: 41 of at most 40\n")
    assert record["outcome"] == "unsolved"
    assert "41 of at most 40" in record["error"]


@pytest.mark.parametrize(
    ("code", "result", "reason"),
    [
        (0, None, "no record was written"),
        (0, "{torn", "no record was written"),
        (0, "[]", "no record was written"),
        (32, None, "exit code 32"),
        (36, None, "exit code 36"),
        (31, said(), "exit code 31"),
        (-9, None, "killed by SIGKILL"),
        (-11, None, "killed by SIGSEGV"),
        (0, said(outcome="unsolved", plan=None), "contradicts"),
        (23, said(), "contradicts"),
        (0, said(plan=None), "without a plan"),
        (0, said(plan=PLAN[::-1]), "invalid plan"),
        (0, said(plan=["fly b1"]), "invalid plan"),
        (0, said(length=3), "says length 3"),
        (0, said(trace=[]), "does not end with"),
        (0, said(trace=[[0.5, 4]]), "does not end with"),
        (0, said(trace=[[0.5, 2], [0.6, 2]]), "does not improve"),
        (0, said(trace=[[0.9, 4], [0.6, 2]]), "does not improve"),
    ],
)
def test_everything_else_is_broken_with_the_reason(judge: Any, code: int, result: object, reason: str) -> None:
    record = judge(code, result, stderr="first\nthe last words\n")
    assert record["outcome"] == "broken"
    assert reason in record["error"]


def test_a_killed_child_is_broken_even_if_it_had_a_plan(judge: Any) -> None:
    record = judge(-9, said(), killed=True)
    assert record["outcome"] == "broken"
    assert "was killed" in record["error"]


def test_a_record_names_the_model_without_what_is_particular_to_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_model(None) is None
    assert shown_model(str(PRETRAINED / "sokoban")) == "pretrained/sokoban"
    assert shown_model(str(tmp_path / "runs" / "mine")) == "runs/mine"
    assert shown_model("/elsewhere/mine") == "mine"
