"""Searches that share states: what is sent, how it enters another search, and that graphs stay consistent."""

import random

import pytest

from oclgen.interfaces import Plan, Task
from oclgen.search.anytime import Counters
from oclgen.search.extensions import shared_states
from oclgen.search.extensions.exchange import MOST_STATES, Exchange, SharedState
from oclgen.search.extensions.shared_states import StateSharing, add_shared_state, promising_states
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.settings import OclgenSettings
from tests.search.invariants import keep_graphs
from tests.search.running import solve
from tests.toy import NumberLine, RandomHeuristic, WanderingPolicy, random_digraph, replays_to_goal

LINE = NumberLine(start=0, goal=12, size=20, stride=5)
UP, LEAP = ("up",), ("leap",)


def graph_of(task: Task) -> SearchGraph:
    return SearchGraph(task.initial_state, task.is_goal, Counters())


def walk(graph: SearchGraph, *values: float) -> None:
    """States 1, 2, ... with these values of h."""
    for state, h in enumerate(values, 1):
        graph.add(graph.node(state - 1), UP, state, h, evaluated=True)


def test_the_ends_of_the_most_promising_paths_are_sent() -> None:
    graph = graph_of(LINE)
    walk(graph, 5.0, 4.0, 3.5)
    graph.add(ROOT, LEAP, 5, 5.5, evaluated=True)
    graph.add(graph.node(5), UP, 6, 0.5, evaluated=False)
    paths = [state.path for state in promising_states(graph, 1)]
    assert paths == [(UP,) * 2, (UP,) * 3, (LEAP,)]
    assert promising_states(graph, graph.node(3)) == [SharedState(3.5, (UP,) * 3), SharedState(5.5, (LEAP,))]


def test_closed_nodes_and_nodes_as_deep_as_the_best_plan_are_not_sent() -> None:
    graph = graph_of(LINE)
    walk(graph, 3.0, 2.0, 1.0)
    for state in (1, 2):
        graph.close(graph.node(state))
    assert [len(state.path) for state in promising_states(graph, 1)] == [3]
    node = graph.add(ROOT, LEAP, 5, 2.0, evaluated=True)
    graph.add(node, UP, 12, 0.0, evaluated=True)
    assert [state.path for state in promising_states(graph, 1)] == [(LEAP,)]


def test_a_received_state_and_its_path_are_in_the_graph_with_their_values() -> None:
    graph = graph_of(LINE)
    walk(graph, 9.0)
    graph.close(graph.node(1))
    add_shared_state(graph, LINE, SharedState(2.5, (UP, LEAP, UP)))
    known = {state: graph.node(state) for state in (1, 6, 7)}
    assert [graph.g(node) for node in known.values()] == [1, 2, 3]
    assert [graph.h(node) for node in known.values()] == [9.0, 3.5, 2.5]
    assert [graph.is_evaluated(node) for node in known.values()] == [True, False, True]
    assert [graph.is_open(node) for node in known.values()] == [False, True, True]


def test_a_shorter_path_reopens_a_closed_state() -> None:
    graph = graph_of(LINE)
    walk(graph, 5.0, 4.0, 3.0, 2.0, 1.0)
    graph.close(graph.node(5))
    add_shared_state(graph, LINE, SharedState(1.0, (LEAP,)))
    assert graph.g(graph.node(5)) == 1
    assert graph.is_open(graph.node(5))


def test_a_path_that_does_not_work_is_dropped() -> None:
    graph = graph_of(LINE)
    add_shared_state(graph, LINE, SharedState(1.0, (UP, ("fly",))))
    assert len(graph) == 1


def test_states_of_others_are_taken_at_most_so_many_at_a_time_and_not_sent_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_states, "ITERATIONS", 1)
    sent: list[list[SharedState]] = []
    exchange, graph = Exchange(lambda _: None, sent.append), graph_of(LINE)
    sharing = StateSharing(graph, LINE, exchange)
    received = [SharedState(float(20 - length), (UP,) * length) for length in range(9, 1, -1)]
    exchange.receive_states(received[:4])
    exchange.receive_states(received[4:])
    sharing.after_iteration()
    assert len(graph) == 1 + 9
    assert sum(graph.is_evaluated(node) for node in range(1, len(graph))) == MOST_STATES
    sharing.after_iteration()
    assert sent == []


def test_graphs_stay_consistent_and_plans_valid_when_states_go_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each search takes what the one before has sent, and passes on its own."""
    monkeypatch.setattr(shared_states, "ITERATIONS", 2)
    keep_graphs(monkeypatch, "oclgen")
    taken = 0
    for seed in range(60):
        task = random_digraph(random.Random(seed), 12, 26, goals=2)
        posted: list[SharedState] = []
        for number in range(3):
            incoming, posted = posted, []
            exchange = Exchange(lambda _: None, posted.extend)
            exchange.receive_states(incoming)
            taken += len(incoming)
            settings = OclgenSettings(samples=2, max_tokens=3, n_init=number % 2)
            models = WanderingPolicy(), RandomHeuristic(seed)
            result = solve(task, *models, settings, iterations=12, seed=number, exchange=exchange)
            assert result.plan is None or replays_to_goal(task, result.plan)
    assert taken > 50


def test_without_the_setting_no_state_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_states, "ITERATIONS", 1)
    sent: dict[bool, list[SharedState]] = {True: [], False: []}
    for share, found in sent.items():
        plans: list[Plan] = []
        settings = OclgenSettings(samples=1, max_tokens=2, n_init=0, share_states=share)
        exchange = Exchange(plans.append, found.extend)
        solve(LINE, WanderingPolicy(), RandomHeuristic(1), settings, iterations=5, exchange=exchange)
    assert sent[True] and not sent[False]
