"""With `prune`, nothing is spent where no shorter plan can be."""

import pytest

from oclgen.search.settings import OclgenSettings
from tests.search.invariants import CheckedGraph, keep_graphs
from tests.search.running import solve
from tests.toy import ExactHeuristic, NumberLine, ScriptedPolicy, steps

LINE = NumberLine(start=0, goal=12, size=20, stride=5)  # optimum: leap, leap, up, up


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[CheckedGraph]:
    return keep_graphs(monkeypatch, "oclgen")


def test_pruning_limits_rollouts_to_what_can_shorten_the_plan() -> None:
    script = {place: [steps(*["up"] * 12, confidence=0.99)] for place in range(20)}
    for prune in (False, True):
        policy = ScriptedPolicy(script)
        settings = OclgenSettings(prune=prune, n_init=1, samples=1, depth_selection="scan")
        solve(LINE, policy, ExactHeuristic(), settings, iterations=13)
        limits = [call["max_actions"] for call in policy.calls[1:]]
        assert limits[:11] == ([11 - depth for depth in range(11)] if prune else [None] * 11)
    assert [call["states"] for call in policy.calls[1:12]] == [[depth] for depth in range(11)]


def test_pruning_selects_no_node_one_step_before_the_goal(graphs: list[CheckedGraph]) -> None:
    script = {place: [steps(*["up"] * 12, confidence=0.99)] for place in range(20)}
    for prune in (False, True):
        settings = OclgenSettings(prune=prune, n_init=1, samples=1, depth_selection="scan", adaptive_expansion=False)
        solve(LINE, ScriptedPolicy(script), ExactHeuristic(), settings, iterations=12)
    assert 11 in graphs[0].selected
    assert 11 not in graphs[1].selected
