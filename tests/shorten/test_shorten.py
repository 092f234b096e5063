"""Plans are shortened without a model: valid, never longer, by each of the three means, proved optimal where small."""

import pytest

from oclgen.classical.planners import PLANNERS
from oclgen.domains import catalog
from oclgen.errors import InputError
from oclgen.interfaces import Plan
from oclgen.pddl.checking.evaluation import advance
from oclgen.pddl.checking.reasons import needed
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.reading.conditions import Literal
from oclgen.pddl.reading.problem import read_problem
from oclgen.pddl.task import PddlTask
from oclgen.planner import prepare
from oclgen.search.anytime import Budget, Counters, Ending, SearchResult, run
from oclgen.search.graph import SearchGraph
from oclgen.search.trajectories import add_plan
from oclgen.shorten.neighbourhood import explore
from oclgen.shorten.shorten import Shortening
from oclgen.shorten.windows import Window, named, window_problem, windows

SPEC = catalog.load("blocksworld")
DOMAIN = SPEC.domain_text
THREE = """(define (problem three) (:domain blocksworld-4ops) (:objects a b c)
  (:init (arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))
  (:goal (and (on a b) (on b c))))"""
SHORTEST: Plan = (("pickup", "b"), ("stack", "b", "c"), ("pickup", "a"), ("stack", "a", "b"))
ROUNDABOUT: Plan = (
    ("pickup", "a"),
    ("stack", "a", "c"),
    ("unstack", "a", "c"),
    ("putdown", "a"),
    ("pickup", "c"),
    ("putdown", "c"),
    *SHORTEST,
)


def shortened(problem: str, plan: Plan, method: str, seconds: float | None = 30.0) -> SearchResult:
    budget, counters = Budget(seconds), Counters()
    prepared = prepare(DOMAIN, problem, method=method)
    return run(prepared.plans(budget, counters, start=plan), budget, counters)


@pytest.mark.parametrize("method", ["lama", "bfs"])
def test_a_roundabout_plan_becomes_a_shortest_one_with_proof(method: str) -> None:
    result = shortened(THREE, ROUNDABOUT, method)
    assert result.plan is not None
    assert len(result.plan) == len(SHORTEST)
    assert validate(DOMAIN, THREE, result.plan).valid
    assert result.ending is Ending.EXHAUSTED
    assert result.trace[0][1] == len(ROUNDABOUT)


@pytest.mark.parametrize("method", ["lama-first", "lmcut"])
def test_methods_that_search_by_themselves_yield_the_given_plan_and_only_shorter_ones(method: str) -> None:
    assert [length for _, length in shortened(THREE, SHORTEST, method).trace] == [len(SHORTEST)]
    assert [length for _, length in shortened(THREE, ROUNDABOUT, method).trace] == [len(ROUNDABOUT), len(SHORTEST)]


def test_a_plan_comes_back_even_when_there_is_no_time_to_shorten_it() -> None:
    result = shortened(THREE, SHORTEST, "bfs", seconds=0.0)
    assert result.plan == SHORTEST
    assert result.ending is Ending.TIME


def test_a_plan_that_is_not_valid_is_refused_with_its_broken_step() -> None:
    with pytest.raises(InputError, match=r"not valid: step 3 .*stack a c"):
        shortened(THREE, (ROUNDABOUT[0], ROUNDABOUT[1], ROUNDABOUT[1]), "bfs")


def test_the_empty_plan_of_a_solved_problem_is_optimal() -> None:
    solved = THREE.replace("(and (on a b) (on b c))", "(clear a)")
    result = shortened(solved, (), "bfs")
    assert result.plan == ()
    assert result.ending is Ending.EXHAUSTED


def make(plan: Plan) -> tuple[PddlTask, SearchGraph]:
    task = PddlTask(DOMAIN, THREE)
    graph = SearchGraph(task.initial_state, task.is_goal, Counters())
    add_plan(graph, task, plan)
    return task, graph


def test_exploring_around_a_plan_finds_shortcuts_and_then_proves_the_plan_optimal() -> None:
    task, graph = make(ROUNDABOUT)
    exploring = explore(graph, task, Budget(), limit=1000)
    while True:
        try:
            next(exploring)
        except StopIteration as stop:
            assert stop.value is True
            break
    assert graph.best_length == len(SHORTEST)


def test_exploring_stops_at_its_limit_without_a_proof() -> None:
    task, graph = make(ROUNDABOUT)
    exploring = explore(graph, task, Budget(), limit=1)
    next(exploring)
    with pytest.raises(StopIteration) as stop:
        next(exploring)
    assert stop.value.value is False


def test_a_window_is_planned_anew_in_fewer_steps() -> None:
    detour: Plan = (("pickup", "b"), ("stack", "b", "a"), ("unstack", "b", "a"), *SHORTEST[1:])
    task, graph = make(detour)
    shortening = Shortening(task, graph, Budget(30), Counters(), PLANNERS["bfs"])
    shortening.replan(detour, Window(0, 4), 20.0)
    assert graph.get_best_plan() == SHORTEST


def test_regression_asks_only_for_what_the_rest_of_the_plan_needs() -> None:
    info = read_problem(DOMAIN, THREE)
    state = set(info.init)
    for action in SHORTEST[:2]:
        advance(info, state, action)
    wanted = {("clear", "a"), ("on-table", "a"), ("arm-empty",), ("clear", "b"), ("on", "b", "c")}
    assert needed(info, state, SHORTEST[2:]) == {Literal(atom, True) for atom in wanted}


def test_a_windows_problem_and_the_rest_make_a_plan() -> None:
    info = read_problem(DOMAIN, THREE)
    form = window_problem(info, info.init, SHORTEST[:2], SHORTEST[2:])
    found = PddlTask(form.domain, form.problem).shortest_plan()
    assert found is not None
    assert named(form, found) == SHORTEST[:2]


@pytest.mark.parametrize(("length", "size"), [(10, 4), (11, 4), (3, 8), (9, 1), (1, 1)])
def test_windows_cover_the_plan_from_its_end_to_its_beginning(length: int, size: int) -> None:
    found = list(windows(length, size))
    assert found[0].last == length
    assert found[-1].first == 0
    assert {step for window in found for step in range(window.first, window.last)} == set(range(length))
