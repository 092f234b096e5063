"""Dead ends that searches walked into are learned from."""

from dataclasses import replace
from pathlib import Path

import pytest

from oclgen.data.dataset import DEAD_END, Row
from oclgen.data.dead_ends import FACTOR, LEAST_COST
from oclgen.improve import searching
from oclgen.improve.searching import FAILED, MOST_UNANSWERED, Searched, SearchJob
from oclgen.improve.settings import ExtraExamples, Searching
from oclgen.improve.training_data import best_searches, example_rows
from tests.data.walked_data import solved_row

DOMAIN = """(define (domain fragile) (:predicates (whole ?x) (used ?x))
  (:action use :parameters (?x) :precondition (whole ?x) :effect (used ?x))
  (:action drop :parameters (?x) :precondition (whole ?x) :effect (not (whole ?x))))"""
PROBLEM = "(define (problem p) (:domain fragile) (:objects a) (:init (whole a)) (:goal (used a)))"
BROKEN = PROBLEM.replace("(whole a)", "")
ROW = solved_row(3, PROBLEM, (("use", "a"),), "train")


def job(row: Row) -> SearchJob:
    return SearchJob(row, DOMAIN, Path(), Searching(), ExtraExamples(dead_ends=2), 0)


def searched(**changes: object) -> Searched:
    found = Searched(3, "p3", "train", 20, 18, "(use a)\n", "time", 1.0, 0, dead_ends=(BROKEN,))
    return replace(found, **changes)  # type: ignore[arg-type]


def test_only_states_that_are_proved_to_have_no_plan_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "ASK_SECONDS", 60.0)
    assert list(searching.dead_ends(job(ROW), [PROBLEM, BROKEN])) == [BROKEN]


def test_after_some_states_without_an_answer_the_planner_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def too_hard(domain_text: str, problem: str, *limits: object) -> None:
        asked.append(problem)

    monkeypatch.setattr(searching, "ask", too_hard)
    assert list(searching.dead_ends(job(ROW), [BROKEN] * 5)) == []
    assert len(asked) == MOST_UNANSWERED


@pytest.mark.parametrize(
    ("search", "cost"),
    [(searched(), FACTOR * 18), (searched(length=FAILED, plan=""), FACTOR * 20), (searched(length=2), LEAST_COST)],
)
def test_a_dead_end_counts_as_far_from_the_goal_whether_the_search_solved_its_problem_or_not(
    search: Searched, cost: int
) -> None:
    rows = [row for row in example_rows({3: search}, {3: ROW}, "oclgen") if row.outcome == DEAD_END]
    assert [(row.problem, row.length, row.split) for row in rows] == [(BROKEN, cost, "train")]


def test_dead_ends_of_earlier_searches_stay() -> None:
    other = BROKEN.replace("(:goal", "\n(:goal")
    for first, second in ((18, 17), (17, 18)):
        best = best_searches([searched(length=first), searched(length=second, dead_ends=(other, BROKEN))])
        assert best[3].length == 17 and best[3].dead_ends == (BROKEN, other)


def test_validation_problems_have_none() -> None:
    rows = example_rows({3: searched()}, {3: replace(ROW, split="val")}, "oclgen")
    assert DEAD_END not in {row.outcome for row in rows}


def test_searches_recorded_before_there_were_dead_ends_can_be_read() -> None:
    line = {"problem": 3, "name": "p", "split": "train", "known": 1, "length": 1, "plan": "", "ending": "time"}
    assert (
        Searched.from_json({**line, "seconds": 1.0, "seed": 0, "trace": [], "plans": [], "states": []}).dead_ends == ()
    )
