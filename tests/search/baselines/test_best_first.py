"""A* and greedy best-first search: the order of expansion, the proof of optimality, forced states."""

import random

import pytest

from oclgen.errors import InputError
from oclgen.search.anytime import Ending
from oclgen.search.baselines.best_first import BestFirstSettings, Priority
from tests.search.invariants import keep_graphs
from tests.search.running import solve
from tests.toy import DigraphTask, ExactHeuristic, RandomHeuristic, TableHeuristic, optimal_length, random_digraph

# Two plans to the goal 9: the heuristic prefers 0-1-2-3-9, but 0-5-6-9 is shorter.
TWO_PLANS = DigraphTask({0: (1, 5), 1: (2,), 2: (3,), 3: (9,), 5: (6,), 6: (9,)}, frozenset({9}))
PREFERS_LONGER = {0: 4.0, 1: 1.0, 2: 1.0, 3: 1.0, 5: 3.0, 6: 3.0}


def test_greedy_search_follows_h_alone_and_still_improves_afterwards() -> None:
    result = solve(TWO_PLANS, None, TableHeuristic(PREFERS_LONGER), method="gbfs")
    assert [length for _, length in result.trace] == [4, 3]
    assert result.ending is Ending.EXHAUSTED


def test_astar_adds_the_steps_so_far_to_h() -> None:
    equal = dict.fromkeys(PREFERS_LONGER, 1.0)
    result = solve(TWO_PLANS, None, TableHeuristic(equal), method="astar")
    assert [length for _, length in result.trace] == [3]


@pytest.mark.parametrize(("method", "order"), [("astar", [0, 1, 2, 5, 3, 6]), ("gbfs", [0, 1, 2, 3, 5, 6])])
def test_astar_expands_by_f_and_greedy_search_by_h(
    method: str, order: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = keep_graphs(monkeypatch, "baselines.best_first")
    values = {0: 3.0, 1: 1.0, 2: 1.0, 3: 1.5, 5: 2.5, 6: 2.6}
    solve(TWO_PLANS, None, TableHeuristic(values), method=method)
    [graph] = graphs
    assert [graph.state(node) for node in graph.selected] == order


@pytest.mark.parametrize("pass_through", [False, True])
@pytest.mark.parametrize("method", ["astar", "gbfs"])
def test_the_graph_is_consistent_and_the_optimum_is_proved_on_random_tasks(
    method: Priority, pass_through: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_graphs(monkeypatch, "baselines.best_first")
    for seed in range(60):
        task = random_digraph(random.Random(seed), 12, 12 + seed % 20, goals=2)
        result = solve(task, None, RandomHeuristic(seed), BestFirstSettings(method, pass_through), method=method)
        assert result.ending is Ending.EXHAUSTED
        assert (None if result.plan is None else len(result.plan)) == optimal_length(task)


def test_astar_with_the_exact_heuristic_expands_the_states_of_the_optimal_plan_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs = keep_graphs(monkeypatch, "baselines.best_first")
    result = solve(TWO_PLANS, None, ExactHeuristic(), method="astar")
    [graph] = graphs
    assert [graph.state(node) for node in graph.selected] == [0, 5, 6, 1]
    assert result.counters.iterations == result.counters.expanded == 4


def test_with_pass_through_only_the_last_states_of_expansions_are_evaluated() -> None:
    for pass_through, asked in ((False, {1, 5, 2, 3, 6}), (True, set())):
        heuristic = RandomHeuristic()
        result = solve(TWO_PLANS, None, heuristic, BestFirstSettings("gbfs", pass_through), method="gbfs")
        assert result.plan is not None and len(result.plan) == 3
        assert {state for batch in heuristic.asked for state in batch} == asked


def test_an_unknown_priority_is_refused() -> None:
    with pytest.raises(InputError, match="priority must be one of astar, gbfs, not 'depth'"):
        BestFirstSettings("depth")  # type: ignore[arg-type]
