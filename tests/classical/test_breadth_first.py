"""Breadth-first search in a process of its own."""

import tempfile
from pathlib import Path

import psutil
import pytest

from oclgen.classical import breadth_first
from oclgen.domains import catalog
from oclgen.pddl.checking.validate import validate
from oclgen.planner import solve
from oclgen.search.anytime import Budget, Counters, Ending, SearchResult, run

SMALL = {
    "blocksworld": ["blocks=5"],
    "labyrinth": ["size=3", "rotations=2"],
    "logistics": ["cities=2", "city_size=2", "packages=2", "airplanes=1"],
    "sokoban": ["grid=6", "boxes=1"],
}
DOMAIN = """(define (domain d) (:requirements :strips)
  (:predicates (here) (there) (nowhere) (fixed))
  (:action go :parameters () :precondition (here) :effect (and (not (here)) (there))))"""


def drawn(domain: str, *settings: str) -> tuple[str, str]:
    spec = catalog.load(domain)
    return spec.domain_text, catalog.draw(spec, 1, 0, catalog.overrides(spec, settings)).text


def problem(goal: str) -> str:
    return f"(define (problem x) (:domain d) (:init (here)) (:goal {goal}))"


def searched(domain: str, text: str, seconds: float = 60.0, memory: int | None = None) -> SearchResult:
    budget = Budget(seconds, memory_bytes=memory)
    return run(breadth_first.BreadthFirst().plans(domain, text, budget), budget, Counters())


@pytest.mark.parametrize("domain", SMALL)
def test_its_plans_are_valid_and_as_short_as_those_of_lmcut(domain: str) -> None:
    texts = drawn(domain, *SMALL[domain])
    result = searched(*texts)
    proved = solve(*texts, method="lmcut", time_limit=60)
    assert result.plan is not None and proved.plan is not None
    assert validate(*texts, result.plan).valid
    assert len(result.plan) == len(proved.plan)
    assert result.ending is proved.ending is Ending.EXHAUSTED


def test_a_goal_that_holds_already_needs_no_action() -> None:
    assert searched(DOMAIN, problem("(here)")).plan == ()


@pytest.mark.parametrize("goal", ["(nowhere)", "(and (here) (there))", "(fixed)"])
def test_without_a_plan_the_space_is_exhausted(goal: str) -> None:
    result = searched(DOMAIN, problem(goal))
    assert result.plan is None and result.ending is Ending.EXHAUSTED


def test_at_the_time_limit_nothing_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(psutil.Process().children(recursive=True))
    result = searched(*drawn("blocksworld", "blocks=25"), seconds=1.0)
    assert result.plan is None and result.ending is Ending.TIME
    assert not list(tmp_path.iterdir())
    assert not set(psutil.Process().children(recursive=True)) - before


def test_too_little_memory_is_an_ending() -> None:
    result = searched(*drawn("blocksworld", "blocks=25"), memory=140 << 20)
    assert result.plan is None and result.ending is Ending.MEMORY


def test_plans_from_other_states_come_in_their_order_and_none_where_there_is_no_way() -> None:
    budget = Budget(60.0)
    text = problem("(there)")
    assert breadth_first.plans_from(DOMAIN, text, [(), (("go",),)], 10.0, budget) == [(("go",),), ()]
    assert breadth_first.plans_from(DOMAIN, problem("(here)"), [(("go",),), ()], 10.0, budget) == [None, ()]


def test_plans_from_other_states_are_none_once_the_time_is_up() -> None:
    texts = drawn("blocksworld", "blocks=25")
    assert breadth_first.plans_from(*texts, [(), ()], 0.5, Budget(60.0)) == [None, None]
    assert breadth_first.plans_from(*texts, [(), ()], 50.0, Budget(1.0)) == [None, None]
