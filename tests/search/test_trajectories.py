"""How trajectories get their heuristic values."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from oclgen.interfaces import State, Task
from oclgen.search.anytime import Budget, Counters
from oclgen.search.context import SearchContext, Trajectory, replay
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.trajectories import Expansion, HeuristicValue, assign_heuristics
from tests.toy import (
    NumberLine,
    WanderingPolicy,
    steps,
)

LINE = NumberLine(start=0, goal=12, size=20, stride=5)  # optimum: leap, leap, up, up


@dataclass
class TenTimes:
    """Ten times the number: values that no count of steps gives by accident."""

    asked: list[State]

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        self.asked += states
        return [10.0 * float(str(state)) for state in states]


def assigned(
    rollouts: Sequence[Trajectory], expansions: Sequence[Expansion] = (), graph: SearchGraph | None = None
) -> tuple[dict[State, HeuristicValue], list[State]]:
    heuristic = TenTimes([])
    context = SearchContext(LINE, WanderingPolicy(), heuristic, Budget(), random.Random(0), Counters())
    graph = graph or SearchGraph(0, LINE.is_goal, Counters())
    return assign_heuristics(graph, context, expansions, rollouts), heuristic.asked


def up(start: int, count: int) -> Trajectory:
    return replay(LINE, start, steps(*["up"] * count))


def test_a_rollouts_last_state_is_evaluated_and_the_states_before_it_count_steps_to_it() -> None:
    estimates, asked = assigned([up(0, 3)])
    assert asked == [3]
    assert estimates[3] == HeuristicValue(30.0, evaluated=True)
    assert [estimates[state].h for state in (2, 1, 0)] == [31.0, 32.0, 33.0]
    assert not estimates[2].evaluated


def test_values_are_backed_up_from_the_nearest_expanded_state_downstream() -> None:
    expansion = Expansion(2, [up(2, 1), replay(LINE, 2, steps("leap"))], complete=True)
    estimates, asked = assigned([up(0, 5)], [expansion])
    assert asked == [2, 3, 7, 5]
    assert {state: estimates[state].h for state in (5, 4, 3, 2, 1, 0)} == {5: 50, 4: 51, 3: 30, 2: 20, 1: 21, 0: 22}


def test_a_rollout_that_reaches_the_goal_needs_no_heuristic() -> None:
    estimates, asked = assigned([up(9, 8)])
    assert asked == []
    assert [estimates[state].h for state in (12, 11, 10, 9)] == [0.0, 1.0, 2.0, 3.0]


def test_where_rollouts_meet_the_least_backed_up_value_counts() -> None:
    estimates, _ = assigned([replay(LINE, 6, steps("up", "up", "up")), replay(LINE, 6, steps("up", "down", "down"))])
    assert estimates[7].h == 52.0


def test_an_evaluated_state_is_not_evaluated_again_and_its_value_is_backed_up() -> None:
    graph = SearchGraph(0, LINE.is_goal, Counters())
    graph.add(graph.add(ROOT, ("up",), 1, 0.0, False), ("up",), 2, 20.0, evaluated=True)
    estimates, asked = assigned([up(0, 2)], graph=graph)
    assert asked == []
    assert estimates[1].h == 21.0
