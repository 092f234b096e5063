"""What is learned from a search graph beside its best plan."""

import random

import pytest

from oclgen.improve.explored import UNKNOWN, Explored, costs_to_go
from oclgen.search.anytime import Budget, Counters, run
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.oclgen import oclgen_search
from oclgen.search.settings import OclgenSettings
from tests.toy import DigraphTask, ExactHeuristic, WanderingPolicy, distances, random_digraph, replays_to_goal


def searched(task: DigraphTask, seed: int, iterations: int) -> tuple[SearchGraph, int | None]:
    seen: list[SearchGraph] = []
    budget, counters = Budget(iterations=iterations), Counters()
    search = oclgen_search(
        task, WanderingPolicy(), ExactHeuristic(), OclgenSettings(), budget, random.Random(seed), counters, seen.append
    )
    plan = run(search, budget, counters).plan
    return seen[0], None if plan is None else len(plan)


@pytest.mark.parametrize("seed", range(20))
def test_costs_to_go_are_the_shortest_known_ways_to_a_goal(seed: int) -> None:
    task = random_digraph(random.Random(seed), 30, 60, 2)
    graph, length = searched(task, seed, 3)
    edges = {node: tuple(target for target, _ in graph.transitions(node)) for node in range(len(graph))}
    goals = frozenset(node for node in range(len(graph)) if graph.is_goal(node))
    costs = costs_to_go(graph)
    for node in range(len(graph)):
        within = distances(DigraphTask(edges, goals, node))
        assert costs[node] == min((within[goal] for goal in goals if goal in within), default=UNKNOWN)
    assert (None if costs[ROOT] == UNKNOWN else costs[ROOT]) == length


def grid(size: int) -> DigraphTask:
    """From one corner to the other by steps right and down: many shortest plans."""
    edges = {
        size * row + column: tuple(
            size * (row + down) + column + right
            for down, right in ((1, 0), (0, 1))
            if row + down < size and column + right < size
        )
        for row in range(size)
        for column in range(size)
    }
    return DigraphTask(edges, frozenset({size * size - 1}))


def test_other_plans_are_as_short_and_all_different() -> None:
    task = grid(4)
    graph, length = searched(task, 0, 40)
    explored = Explored(graph)
    best = graph.get_best_plan()
    others = explored.other_plans(best, 3, random.Random(0))
    assert len({best, *others}) == 4
    assert all(len(plan) == length and replays_to_goal(task, plan) for plan in others)


def test_there_are_no_more_plans_than_there_are() -> None:
    task = DigraphTask({0: (1,), 1: (2,)}, frozenset({2}))
    graph, _ = searched(task, 0, 5)
    explored = Explored(graph)
    assert explored.other_plans(graph.get_best_plan(), 3, random.Random(0)) == []
    assert explored.other_nodes(3, 2, random.Random(0)) == []


@pytest.mark.parametrize("slack", [0, 2])
def test_other_states_lie_near_the_best_plan_and_have_plans_of_their_own(slack: int) -> None:
    task = DigraphTask({0: (1, 4), 1: (2, 5), 2: (3,), 4: (2,), 5: (6,), 6: (2,), 7: (3,)}, frozenset({3}))
    graph, length = searched(task, 1, 40)
    assert length == 3
    explored, rng = Explored(graph), random.Random(0)
    nodes = explored.other_nodes(10, slack, rng)
    on_plan = {graph.state(node) for node, _ in graph.best_path()}
    assert {graph.state(node) for node in nodes} == ({1, 4} | ({5, 6} if slack else set())) - on_plan
    for node in nodes:
        start = DigraphTask(task.edges, task.goals, int(str(graph.state(node))))
        assert replays_to_goal(start, explored.plan(node, rng))


def test_stuck_states_have_no_known_way_on_and_look_near_the_goal() -> None:
    task = DigraphTask({0: (1, 2, 3, 4, 5, 6), 1: (7,)}, frozenset({7}))
    graph = SearchGraph(0, task.is_goal, Counters())
    for target, h in ((1, 1.0), (2, 9.0), (3, 2.0), (4, 8.0), (5, 7.0), (6, 6.0)):
        graph.add(ROOT, ("go", str(target)), target, h, evaluated=True)
    graph.add(graph.node(1), ("go", "7"), 7, 0.0, evaluated=True)
    explored = Explored(graph)
    assert [graph.state(node) for node in explored.stuck_nodes(1, random.Random(0))] == [3]
    assert {graph.state(node) for node in explored.stuck_nodes(9, random.Random(0))} == {2, 3, 4, 5, 6}
