import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from oclgen.errors import InputError
from oclgen.interfaces import State, Task
from oclgen.search.anytime import Ending
from oclgen.search.best_first import BestFirstSettings, Priority
from oclgen.search.best_of_n import BestOfNSettings
from tests.search.invariants import keep_graphs
from tests.search.running import solve
from tests.toy import DigraphTask, ExactHeuristic, RandomHeuristic, optimal_length, random_digraph

# Two ways to the goal 9: 0-1-2-3-9 looks good from close by, 0-5-6-9 is shorter.
TWO_WAYS = DigraphTask({0: (1, 5), 1: (2,), 2: (3,), 3: (9,), 5: (6,), 6: (9,)}, frozenset({9}))
LOOKS = {0: 4.0, 1: 1.0, 2: 1.0, 3: 1.0, 5: 3.0, 6: 3.0}


@dataclass
class Table:
    """A heuristic written down state by state."""

    values: dict[Any, float]

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        return [self.values[state] for state in states]


def test_greedy_search_follows_h_alone_and_still_improves_afterwards() -> None:
    result = solve(TWO_WAYS, None, Table(LOOKS), method="gbfs")
    assert [length for _, length in result.trace] == [4, 3]
    assert result.ending is Ending.EXHAUSTED


def test_astar_counts_the_way_so_far() -> None:
    equal_looks = dict.fromkeys(LOOKS, 1.0)
    result = solve(TWO_WAYS, None, Table(equal_looks), method="astar")
    assert [length for _, length in result.trace] == [3]


@pytest.mark.parametrize("passing", [False, True])
@pytest.mark.parametrize("method", ["astar", "gbfs"])
def test_books_hold_and_the_optimum_is_proved_on_random_graphs(
    method: Priority, passing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_graphs(monkeypatch, "best_first")
    for seed in range(60):
        task = random_digraph(random.Random(seed), 12, 12 + seed % 20, goals=2)
        result = solve(task, None, RandomHeuristic(seed), BestFirstSettings(method, passing), method=method)
        assert result.ending is Ending.EXHAUSTED
        assert (None if result.plan is None else len(result.plan)) == optimal_length(task)


def test_astar_with_the_exact_heuristic_expands_no_more_than_the_plan_needs() -> None:
    result = solve(TWO_WAYS, None, ExactHeuristic(), method="astar")
    assert result.counters.expanded <= 5
    assert result.counters.iterations == result.counters.expanded


def test_passing_through_asks_only_where_the_ways_lead() -> None:
    for passing, asked in ((False, {1, 5, 2, 3, 6}), (True, set())):
        heuristic = RandomHeuristic()
        result = solve(TWO_WAYS, None, heuristic, BestFirstSettings("gbfs", passing), method="gbfs")
        assert result.plan is not None and len(result.plan) == 3
        assert {state for batch in heuristic.asked for state in batch} == asked


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="priority"):
        BestFirstSettings("depth")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="samples"):
        BestOfNSettings(0)
