"""Problems that were too hard for the teacher: learned from, but never more of them than of the solved ones."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from oclgen.data import dataset
from oclgen.data.dataset import Row
from oclgen.data.off_plan import off_plan_row
from oclgen.improve.searching import Searched
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan
from oclgen.pddl.reading.problem import read_problem
from oclgen.pipeline import off_plan
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.gathering import NO_PLAN, Plans, divide
from oclgen.pipeline.loops import Improver
from oclgen.pipeline.off_plan import OffPlanStage, problem_of, states_each
from oclgen.support.files import write_json
from tests.data.toy_data import make_dataset

pytestmark = pytest.mark.usefixtures("patient_teacher")


def test_problems_that_were_too_hard_take_their_part_of_the_states() -> None:
    assert [states_each(100, hard) for hard in (0, 50, 100, 5000)] == [19, 13, 10, 10]
    assert [states_each(solved, 5000) for solved in (999, 1000)] == [1, 0]


def test_problems_that_were_too_hard_come_with_fewer_goals(plans: Plans, tmp_path: Path) -> None:
    row = max(plans.rows("train"), key=lambda row: row.length)
    hard = replace(row, split="failed", plan="", length=-1, outcome="time")
    made = off_plan.solve_state(off_plan.StateJob(hard, 1, plans.data.domain_text, (), 0))
    assert made.split == "train" and problem_of(made) == row.id
    before, after = (read_problem(plans.data.domain_text, each.problem) for each in (row, made))
    assert before.init == after.init and after.goal != before.goal
    assert validate(plans.data.domain_text, made.problem, parse_plan(made.plan, "")).valid


def unsolved(row: Row, numbers: range) -> list[Row]:
    """Copies of a row that were too hard for the teacher."""
    failed = replace(row, split="failed", plan="", length=-1, outcome="time")
    return [replace(failed, id=number, fingerprint=str(number)) for number in numbers]


def test_of_many_hard_problems_each_round_has_as_many_others_as_there_are_solved_ones(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(off_plan, "MOST_STATES", 3)
    jobs: list[tuple[int, int]] = []

    def solved(job: off_plan.StateJob) -> Row:
        jobs.append((job.k, job.row.id))
        return off_plan_row(job.row, job.k, job.domain_text, job.row.problem, None)

    monkeypatch.setattr(off_plan, "solve_state", solved)
    said: list[str] = []
    rows = plans.rows("train")
    many = OffPlanStage(tmp_path, rows, unsolved(rows[0], range(100, 300)), plans.data, 0)
    many.run(Clock(tmp_path / "clock.json", 600.0), 500.0, 1, said.append)
    assert "and, as often, 10 of the 200 problems that were too hard, with fewer goals" in said[0]
    hard = [{number for k, number in jobs if k == each and number >= 100} for each in (1, 2, 3)]
    assert [len(numbers) for numbers in hard] == [10, 10, 10] and len(set.union(*hard)) > 20
    assert len(jobs) == 60 and many.problems(2) == many.problems(2)


def test_a_problem_with_one_goal_does_not_come_with_fewer(plans: Plans) -> None:
    several = plans.rows("train")[0]
    single = replace(several, problem="(define (problem p) (:domain d) (:init) (:goal (and (on a b))))")
    assert off_plan.with_several_goals([single, several]) == [several]


def test_a_loop_searches_no_more_hard_problems_than_solved_ones_and_others_each_time(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = plans.rows("train")
    hard = unsolved(rows[0], range(100, 200))
    monkeypatch.setattr(Plans, "hard", lambda _: hard)
    improver = Improver(tmp_path, plans, Clock(tmp_path / "clock.json", 600.0), 1, 0, lambda _: None)
    found = [{row.id for row in improver.problems(number)} - {row.id for row in rows} for number in (1, 2)]
    assert [len(numbers) for numbers in found] == [10, 10] and found[0] != found[1]
    assert len(improver.problems(1)) == 20 and improver.problems(1) == improver.problems(1)


def test_a_loop_learns_from_hard_problems_that_earlier_loops_solved(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = plans.rows("train")[0]
    hard = [replace(each, split="train", length=NO_PLAN) for each in unsolved(row, range(100, 200))]
    monkeypatch.setattr(Plans, "hard", lambda _: hard)
    improver = Improver(tmp_path, plans, Clock(tmp_path / "clock.json", 600.0), 1, 0, lambda _: None)
    [solved, *_] = {each.id for each in improver.problems(1)} - {each.id for each in improver.problems(2)}
    (tmp_path / "loop-1").mkdir()
    search = Searched(solved, row.name, "train", NO_PLAN, row.length, row.plan, "time", 1.0, 0)
    (tmp_path / "loop-1" / "searches.jsonl").write_text(json.dumps(asdict(search)) + "\n")
    assert [each.plan for each in improver.examples(2) if each.id == solved] == [row.plan]


def test_unsolvable_problems_are_no_failures_and_one_in_five_hard_ones_only_chooses(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", 3, blocks="3")
    row = next(dataset.open_dataset(data).rows())
    writer = dataset.Writer(data, dataset.read_recipe(data), dataset.open_dataset(data).domain_text)
    for number, outcome in enumerate(["exhausted", *["time"] * 7], 100):
        failed: dict[str, Any] = {
            "split": "failed",
            "plan": "",
            "length": -1,
            "outcome": outcome,
            "fingerprint": str(number),
        }
        writer.append(replace(row, id=number, **failed))
    writer.close()
    write_json(tmp_path / "splits.json", divide(data))
    plans = Plans(tmp_path)
    assert [row.id for row in plans.failed()] == list(range(101, 108))  # 100 has no plan, so nobody failed on it
    assert [row.id for row in plans.hard()] == [101, 102, 103, 104, 106, 107]
    assert [row.id for row in plans.choosing()] == [plans.validation()[0].id, 105]
    improver = Improver(tmp_path, plans, Clock(tmp_path / "clock.json", 600.0), 1, 0, lambda _: None)
    assert list(improver.validation()) == plans.validation()
