"""Stages of `oclgen learn` by themselves: off-plan states and search settings."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oclgen.data import dataset
from oclgen.data.dataset import DEAD_END, Row
from oclgen.data.dead_ends import LEAST_COST
from oclgen.data.off_plan import ID_STEP, off_plan_row
from oclgen.pddl import task
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan
from oclgen.pipeline import off_plan, tuning
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.evaluation import EvaluationJob, EvaluationResult
from oclgen.pipeline.gathering import Plans, divide, store_examples
from oclgen.pipeline.installing import SearchChoice, install
from oclgen.pipeline.learn import LearnRequest, tune
from oclgen.pipeline.off_plan import OffPlanStage, problem_of, states_each
from oclgen.pipeline.tuning import Tuner
from oclgen.support.files import write_json
from tests.data.toy_data import make_dataset
from tests.data.walked_data import solved_row, written
from tests.pipeline.toy_models import fake_model

pytestmark = pytest.mark.usefixtures("patient_teacher")


def stage(plans: Plans, work: Path) -> OffPlanStage:
    return OffPlanStage(work, plans.rows("train"), plans.hard(), plans.data, 0)


def test_the_fewer_problems_the_more_states_beside_each_plan() -> None:
    assert [states_each(count) for count in (1, 50, 100, 500, 999, 1000, 5000)] == [30, 30, 19, 3, 2, 0, 0]


def test_off_plan_states_are_solved_and_become_examples_of_training_problems(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(off_plan, "MOST_STATES", 1)
    said: list[str] = []
    stage(plans, tmp_path).run(Clock(tmp_path / "clock.json", 600.0), 500.0, 1, said.append)
    rows = plans.off_plan()
    assert "few problems to learn from (10), so lama-first also solves up to 1 states" in said[0]
    counts = f"{len(rows)} solved, 0 proved to be dead ends, {10 - len(rows)} without a plan"
    assert said[1] == f"off-plan states: {counts}" and len(rows) >= 8
    originals = {row.id: row for row in plans.rows("train")}
    for row in rows:
        assert validate(plans.data.domain_text, row.problem, parse_plan(row.plan, row.name)).valid
        assert originals[problem_of(row)].problem != row.problem
    store_examples(plans)
    assert dataset.open_dataset(plans.path).count("train") == 10 + len(rows)


def test_a_problem_that_is_too_large_for_us_has_no_off_plan_states(
    plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "MAX_PAIRS", 0)
    row = plans.rows("train")[0]
    found = off_plan.solve_state(off_plan.StateJob(row, 1, plans.data.domain_text, (), 0))
    assert (found.split, found.id) == ("failed", row.id + ID_STEP)


FRAGILE = """(define (domain fragile) (:predicates (whole ?x) (used ?x))
  (:action use :parameters (?x) :precondition (whole ?x) :effect (used ?x))
  (:action drop :parameters (?x) :precondition (whole ?x) :effect (not (whole ?x))))"""


def test_a_state_without_a_plan_is_a_dead_end_that_is_learned_from_as_far_from_the_goal(tmp_path: Path) -> None:
    problem = "(define (problem p) (:domain fragile) (:objects a) (:init (whole a)) (:goal (used a)))"
    row = solved_row(3, problem, (("use", "a"),), "train")
    made = off_plan.solve_state(off_plan.StateJob(row, 1, FRAGILE, (), 0))
    assert (made.outcome, made.split, made.length) == (DEAD_END, "train", LEAST_COST)
    assert parse_plan(made.plan, "") == () and problem_of(made) == 3
    written(tmp_path / "off_plan", FRAGILE, [made])
    assert off_plan.off_plan_rows(tmp_path) == [made]
    hard = replace(row, plan="", length=-1)
    assert off_plan.solve_state(off_plan.StateJob(hard, 1, FRAGILE, (), 0)).outcome != DEAD_END


def test_a_stopped_stage_goes_on_and_never_makes_a_state_twice(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(off_plan, "MOST_STATES", 2)
    solved: list[tuple[int, int]] = []

    def stopped(job: off_plan.StateJob) -> Row:
        if len(solved) == 3:
            raise KeyboardInterrupt
        return counted(job)

    def counted(job: off_plan.StateJob) -> Row:
        solved.append((job.row.id, job.k))
        return off_plan_row(job.row, job.k, job.domain_text, job.row.problem, parse_plan(job.row.plan, ""))

    clock = Clock(tmp_path / "clock.json", 600.0)
    monkeypatch.setattr(off_plan, "solve_state", stopped)
    with pytest.raises(KeyboardInterrupt):
        stage(plans, tmp_path).run(clock, 500.0, 1, lambda _: None)
    monkeypatch.setattr(off_plan, "solve_state", counted)
    stage(plans, tmp_path).run(clock, 500.0, 1, lambda _: None)
    assert len(solved) == len(set(solved)) == 20 and {k for _, k in solved[:10]} == {1}
    assert {row.id // ID_STEP for row in plans.off_plan()} == {1, 2}


def test_the_stage_ends_when_its_time_is_up(plans: Plans, tmp_path: Path) -> None:
    said: list[str] = []
    stage(plans, tmp_path).run(Clock(tmp_path / "clock.json", 600.0, begun=10.0), -1.0, 1, said.append)
    assert said[-1] == "off-plan states: 0 solved, 0 proved to be dead ends, 0 without a plan"


def tuner(plans: Plans, work: Path, said: list[str]) -> Tuner:
    return Tuner(work, plans, 1, 0, said.append)


def answering(monkeypatch: pytest.MonkeyPatch, length: Any) -> list[dict[str, Any]]:
    """Instead of searches: `length` of the settings; the settings that were tried."""
    tried: list[dict[str, Any]] = []

    def evaluate(_path: Path, jobs: list[EvaluationJob], *_: object) -> list[EvaluationResult]:
        tried.append(dict(jobs[0].settings))
        found = length(jobs[0].settings)
        return [EvaluationResult(job.row.id, job.method, found, job.row.length, found) for job in jobs]

    monkeypatch.setattr(tuning, "evaluate", evaluate)
    return tried


def test_the_best_settings_are_chosen_one_after_the_other(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    tried = answering(
        monkeypatch,
        lambda settings: 100 - 20 * (settings["decoding"] == "applicable") - 10 * (settings["percentile"] == 20),
    )
    choice = tuner(plans, tmp_path, said).choose(tmp_path, Clock(tmp_path / "clock.json", 600.0), 60.0)
    assert choice == SearchChoice("applicable", 20) == tuner(plans, tmp_path, said).chosen
    assert len(tried) == 4 and "decoding applicable, percentile 20: 1 of 1 solved" in said[-1]


@pytest.mark.parametrize("length", [None, 100])
def test_without_a_difference_the_settings_stay(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int | None
) -> None:
    answering(monkeypatch, lambda _: length)
    clock = Clock(tmp_path / "clock.json", 600.0)
    assert tuner(plans, tmp_path, []).choose(tmp_path, clock, 60.0) == SearchChoice()


def test_with_one_problem_only_that_one_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "splits.json", divide(make_dataset(tmp_path / "data", 1, blocks="3")))
    tried = answering(monkeypatch, lambda _: 10)
    tuner(Plans(tmp_path), tmp_path, []).choose(tmp_path, Clock(tmp_path / "clock.json", 600.0), 60.0)
    assert len(tried) == 4


@pytest.mark.parametrize(("limit", "trials"), [(300.0, 0), (900.0, 4)])
def test_settings_are_tried_only_where_the_whole_time_has_a_share_for_it(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: float, trials: int
) -> None:
    tried = answering(monkeypatch, lambda _: 10)
    request = LearnRequest("", tmp_path, limit, 1, 0)
    fake_model(request.work / "model", None)
    choice = tune(request, Clock(tmp_path / "clock.json", limit, begun=limit / 3), plans, lambda _: None)
    assert len(tried) == trials and (choice is None) == (not trials)
    assert ("no others were tried" in (request.work / "model" / "solve.toml").read_text()) == (not trials)


def test_chosen_settings_replace_ours_but_never_the_users(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    install(fake_model(tmp_path / "model", None), out)
    install(fake_model(tmp_path / "another", SearchChoice("applicable")), out)
    text = (out / "solve.toml").read_text()
    assert tomllib.loads(text) == {"max_tokens": 72, "decoding": "applicable", "percentile": 50}
    for own in ("samples = 3\n", text + "samples = 3\n", text.replace("50", "30"), text.partition("\n")[2], ""):
        (out / "solve.toml").write_text(own)
        install(fake_model(tmp_path / "model", SearchChoice(percentile=20)), out)
        assert (out / "solve.toml").read_text() == own
