"""The parts of `oclgen learn`: its time, its problems, its choice among models, and what it says at the end."""

from dataclasses import replace
from pathlib import Path

import pytest

from oclgen.data import problems as data_problems
from oclgen.data.problems import Problem
from oclgen.pipeline.clock import LEAST_LOOP, Clock, TimePlan
from oclgen.pipeline.diagnosis import Evidence, diagnose, still_falling
from oclgen.pipeline.evaluation import EvaluationResult, Score, table
from oclgen.pipeline.gathering import divide, teacher_limit
from oclgen.pipeline.sizes import rollout_size
from oclgen.pipeline.source import Readable
from tests.data.toy_data import make_dataset
from tests.pipeline.users_folder import LAMP, harbour, lamp


@pytest.mark.parametrize("seconds", [10.0, 900.0, 3600.0])
def test_the_plan_uses_all_of_the_time_and_leaves_out_loops_that_are_too_short(seconds: float) -> None:
    plan = TimePlan.of(seconds)
    assert plan.total == pytest.approx(seconds)
    assert plan.improvement == 0 or plan.improvement >= LEAST_LOOP
    assert (plan.improvement > 0) == (plan.tuning > 0) == (seconds >= 900)


def test_the_time_of_stages_that_are_done_goes_to_the_others() -> None:
    plan = TimePlan.of(900.0, "teacher", "off_plan")
    assert plan.total == pytest.approx(900.0)
    assert plan.teacher == plan.off_plan == 0 and plan.training > TimePlan.of(900.0).training
    assert plan.line().startswith("training ") and "off-plan" not in plan.line()


def test_the_clock_goes_on_where_the_last_run_stopped(tmp_path: Path) -> None:
    with Clock(tmp_path / "clock.json", 100.0, begun=7.0).running():
        pass
    again = Clock(tmp_path / "clock.json", 100.0)
    assert again.spent >= 7.0 and again.left <= 96.0 - 7.0


def test_a_broken_clock_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "clock.json").write_text("{")
    assert Clock(tmp_path / "clock.json", 100.0).spent < 50.0


def test_files_are_read_when_they_are_needed(tmp_path: Path) -> None:
    folder = lamp(tmp_path / "lamp", **{f"p{number}": "lit" for number in range(50)})
    source = data_problems.problems(str(folder), 0, ())
    read: list[int] = []

    def get(index: int) -> Problem | None:
        read.append(index)
        return source.get(index)

    readable = Readable(replace(source, get=get), print)
    assert readable.get(1) is not None
    assert set(read) == {0, 1}
    assert readable.get(50) is None and len(set(read)) == 50


def test_nested_problems_find_their_plans_and_a_broken_file_takes_no_number(tmp_path: Path) -> None:
    folder = harbour(tmp_path / "user", 3)
    (folder / "training" / "rubbish.pddl").write_text("(")
    said: list[str] = []
    readable = Readable(data_problems.problems(str(folder), 0, ()), said.append)
    found = [readable.get(index) for index in range(4)]
    assert {problem.name for problem in found if problem} == {"easy/p0", "easy/p1", "easy/p2"} and found[3] is None
    assert all(problem.plan_file for problem in found if problem)
    assert len(said) == 1 and "rubbish.pddl" in said[0]


def test_a_plan_that_does_not_hold_is_left_to_the_teacher(tmp_path: Path) -> None:
    folder = harbour(tmp_path / "user", 1)
    (folder / "training_plans" / "easy" / "p0.plan").write_text("(stack crate1 crate1)\n")
    said: list[str] = []
    problem = Readable(data_problems.problems(str(folder), 0, ()), said.append).get(0)
    assert problem is not None and problem.plan_file is None
    assert len(said) == 1 and said[0].startswith("passed over, the teacher makes another plan: ")


@pytest.mark.parametrize(("count", "sizes"), [(1, (1, 0, 0)), (2, (1, 1, 0)), (3, (1, 1, 1)), (25, (21, 2, 2))])
def test_splits_follow_the_number_of_solved_problems(tmp_path: Path, count: int, sizes: tuple[int, int, int]) -> None:
    splits = list(divide(make_dataset(tmp_path / "data", count, blocks="3")).values())
    assert tuple(splits.count(split) for split in ("train", "val", "test")) == sizes


def test_a_window_holds_20_to_24_actions(tmp_path: Path) -> None:
    assert rollout_size(LAMP) == (24, 25)
    text = LAMP.replace(":parameters ()", ":parameters (?a ?b ?c ?d ?e ?f)")
    assert rollout_size(text) == (20, 141)


def test_a_model_is_better_if_it_solves_more_or_is_shorter_where_both_solve() -> None:
    some = Score({1: 10, 2: 20})
    assert Score({1: 30, 2: 30, 3: 30}).better_than(some)
    assert Score({1: 9, 2: 20}).better_than(some)
    assert not some.better_than(some)
    assert not Score({1: 5}).better_than(some)


def test_where_last_plans_are_as_long_first_plans_decide() -> None:
    assert Score({1: 10}, {1: 12}).better_than(Score({1: 10}, {1: 13}))
    assert not Score({1: 10}, {1: 13}).better_than(Score({1: 10}, {1: 13}))
    assert not Score({1: 10}, {1: 9}).better_than(Score({1: 9}, {1: 20}))


def test_a_model_is_worse_if_it_solves_less_or_is_longer_or_its_first_plans_clearly_are() -> None:
    some = Score({1: 10, 2: 20}, {1: 20, 2: 20})
    assert Score({1: 5}).worse_than(some)
    assert not Score({1: 30, 2: 30, 3: 30}).worse_than(some)
    assert Score({1: 10, 2: 21}).worse_than(some) and not Score({1: 10, 2: 19}, {1: 50, 2: 50}).worse_than(some)
    assert not Score({1: 10, 2: 20}, {1: 21, 2: 21}).worse_than(some)
    assert Score({1: 10, 2: 20}, {1: 21, 2: 22}).worse_than(some)


def test_another_setting_must_be_clearly_better() -> None:
    assert not Score({1: 999}).better_than(Score({1: 1000}), share=0.99)
    assert Score({1: 980}).better_than(Score({1: 1000}), share=0.99)
    assert Score({1: 2000, 2: 5}).better_than(Score({1: 1000}), share=0.99)


def test_a_teacher_with_little_time_tries_all_problems_of_a_folder() -> None:
    assert teacher_limit(600.0, 100, 1) == 6.0
    assert teacher_limit(600.0, 3, 1) == 60.0
    assert teacher_limit(600.0, 10_000, 1) == 3.0
    assert teacher_limit(200.0, None, 1) == 20.0


@pytest.mark.parametrize(("problems", "seconds"), [(1, 60.0), (3, 40.0), (10, 12.0), (20, 12.0), (80, 3.0)])
def test_the_fewer_problems_the_longer_the_teacher_tries_each(problems: int, seconds: float) -> None:
    assert teacher_limit(120.0, problems, 2) == seconds


def results(*lengths: int | None) -> list[EvaluationResult]:
    return [EvaluationResult(number, "oclgen", length, 10) for number, length in enumerate(lengths)]


def test_lengths_are_compared_on_what_every_method_solved() -> None:
    found = [
        EvaluationResult(1, "best-of-n", 12, 10),
        EvaluationResult(1, "oclgen", 8, 10),
        EvaluationResult(2, "best-of-n", None, 30),
        EvaluationResult(2, "oclgen", 20, 30),
        EvaluationResult(3, "best-of-n", 50, 40),  # and then the time was up
    ]
    lines = table(found, 5.0).splitlines()
    assert lines[0].startswith("held-out problems: 3, 5 s each; lengths of the 1 that all solved")
    assert [" ".join(line.split()) for line in lines[2:]] == [
        "teacher 3 of 3 10.0",
        "best-of-n 2 of 3 12.0",
        "oclgen 2 of 2 8.0",
    ]


def test_a_table_of_no_problems_says_so() -> None:
    assert "no time was left" in table([], 5.0)


FLAT = [(step, 1.0) for step in range(0, 101, 5)]
FALLING = [(step, 2.0 - 0.01 * step) for step in range(0, 101, 5)]


def test_a_good_model_needs_no_diagnosis() -> None:
    assert not list(diagnose(Evidence(5, 5, FALLING, results(8, 9), 60.0)))


def test_a_model_of_easy_problems_only_is_not_called_good() -> None:
    [line] = diagnose(Evidence(5, 50, FLAT, results(8, 9), 60.0))
    assert "held out are easy ones: the teacher failed on 50" in line


@pytest.mark.parametrize(
    ("learned_from", "without_plan", "losses", "cause"),
    [
        (5, 0, FLAT, "too few problems: 5"),
        (40, 60, FLAT, "the teacher failed on 60"),
        (40, 0, FALLING, "the loss was still falling: give it more time, such as --time 2m"),
        (40, 0, FLAT, "give more, and more varied ones"),
    ],
)
def test_a_bad_model_is_explained(
    learned_from: int, without_plan: int, losses: list[tuple[int, float]], cause: str
) -> None:
    lines = list(diagnose(Evidence(learned_from, without_plan, losses, results(8, None), 60.0)))
    assert "1 of 2 held-out problems are unsolved" in lines[0]
    assert len(lines) == 2 and cause in lines[1]


@pytest.mark.parametrize(("seconds", "more"), [(60.0, "2m"), (100.0, "4m"), (900.0, "30m")])
def test_the_time_that_is_advised_is_at_least_twice_the_one_before(seconds: float, more: str) -> None:
    lines = list(diagnose(Evidence(40, 0, FALLING, results(8, None), seconds)))
    assert f"such as --time {more} with" in lines[1]


def test_a_loss_falls_only_if_it_does_so_while_the_rate_is_constant() -> None:
    assert still_falling(FALLING)
    assert not still_falling(FLAT)
    assert not still_falling([(step, 1.0 if step < 70 else 0.5) for step in range(0, 101, 5)])
