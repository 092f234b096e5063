"""Each setting of OCLGen has its effect: every test here fails if its setting is ignored."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from oclgen.errors import InputError
from oclgen.interfaces import Step
from oclgen.search import METHODS
from oclgen.search.anytime import Counters, Ending
from oclgen.search.graph import SearchGraph
from oclgen.search.oclgen import select_depth
from oclgen.search.settings import PROFILES, OclgenSettings
from tests.search.invariants import CheckedGraph, keep_graphs
from tests.search.running import solve
from tests.toy import DigraphTask, ExactHeuristic, NumberLine, RandomHeuristic, ScriptedPolicy, WanderingPolicy, steps

LINE = NumberLine(start=0, goal=12, size=20, stride=5)  # optimum: leap, leap, up, up


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[CheckedGraph]:
    return keep_graphs(monkeypatch, "oclgen")


def line_graph(length: int, goal: int | None = None) -> SearchGraph:
    """A graph that is one path with an open node at every depth."""
    graph = SearchGraph(0, lambda state: state == goal, Counters())
    for state in range(1, length + 1):
        graph.add(state - 1, ("up",), state, 1.0, evaluated=True)
    return graph


def depths_chosen(graph: SearchGraph, settings: OclgenSettings, times: int) -> list[int | None]:
    rng, depth, chosen = random.Random(0), -1, []
    for _ in range(times):
        selected = select_depth(graph, settings, rng, depth)
        chosen.append(selected)
        depth = -1 if selected is None else selected
    return chosen


def test_uniform_selection_draws_each_depth_less_than_the_plan_length_equally_often() -> None:
    counts = Counter(depths_chosen(line_graph(9, goal=6), OclgenSettings(depth_selection="uniform"), 3000))
    assert set(counts) == {0, 1, 2, 3, 4, 5}
    assert all(400 < count < 600 for count in counts.values())


def test_scan_selection_cycles_through_the_open_depths_in_order() -> None:
    graph = line_graph(9, goal=5)
    graph.extract(2)
    chosen = depths_chosen(graph, OclgenSettings(depth_selection="scan"), 9)
    assert chosen == [0, 1, 3, 4, 0, 1, 3, 4, 0]


def test_before_the_first_plan_the_deepest_level_is_selected_only_when_all_others_are_empty() -> None:
    graph, settings = line_graph(2), OclgenSettings(depth_selection="scan")
    assert depths_chosen(graph, settings, 4) == [0, 1, 0, 1]
    graph.extract(0)
    graph.extract(1)
    assert depths_chosen(graph, settings, 2) == [2, 2]
    graph.extract(2)
    assert depths_chosen(graph, settings, 1) == [None]


def test_without_depth_selection_the_least_f_of_all_depths_is_selected(graphs: list[CheckedGraph]) -> None:
    fork = DigraphTask({0: (1, 2), 1: (3,), 2: (4,), 3: (5,), 4: (6,)}, frozenset({99}))
    low_below = {0: 5.0, 1: 9.0, 2: 3.0, 3: 9.0, 4: 2.0, 5: 9.0, 6: 2.0}

    class Table:
        def estimate(self, task: object, states: list[int]) -> list[float]:
            return [low_below[state] for state in states]

    settings = OclgenSettings(depth_selection="none", n_init=0, samples=1, confidence=1.0, max_tokens=1)
    policy = ScriptedPolicy({state: [steps(f"go {t[0]}", confidence=0.0)] for state, t in fork.edges.items()})
    solve(fork, policy, Table(), settings, iterations=4)  # type: ignore[arg-type]
    assert [graphs[0].state(node) for node in graphs[0].selected] == [0, 2, 4, 6]


def test_without_adaptive_expansion_the_graph_holds_rollouts_only(graphs: list[CheckedGraph]) -> None:
    policy = ScriptedPolicy({0: [steps("up", "up", confidence=0.1)]})
    for adaptive in (True, False):
        settings = OclgenSettings(adaptive_expansion=adaptive, n_init=0, samples=1)
        solve(LINE, policy, ExactHeuristic(), settings, iterations=1)
    with_expansion, without = graphs
    assert {without.state(node) for node in range(len(without))} == {0, 1, 2}
    assert {with_expansion.state(node) for node in range(len(with_expansion))} == {0, 1, 2, 5, 6}


def test_n_init_counts_batches_of_rollouts_without_token_limit() -> None:
    for n_init in (0, 1, 4):
        policy = WanderingPolicy()
        solve(LINE, policy, ExactHeuristic(), OclgenSettings(n_init=n_init), iterations=2)
        full = [call for call in policy.calls if call["max_tokens"] is None]
        assert len(full) == n_init
        assert all(call["states"] == [0] for call in full)


def test_samples_and_max_tokens_reach_the_policy() -> None:
    policy = WanderingPolicy()
    solve(LINE, policy, ExactHeuristic(), OclgenSettings(samples=7, max_tokens=3, n_init=1), iterations=2)
    assert {call["samples"] for call in policy.calls} == {7}
    assert [call["max_tokens"] for call in policy.calls] == [None, 3, 3]


def test_only_states_with_an_action_below_the_confidence_threshold_are_expanded(graphs: list[CheckedGraph]) -> None:
    rollout = (Step(("up",), 0.9), Step(("up",), 0.5), Step(("up",), 0.9))
    for confidence in (0.95, 0.6, 0.5):
        settings = OclgenSettings(confidence=confidence, n_init=0, samples=1)
        solve(LINE, ScriptedPolicy({0: [rollout]}), ExactHeuristic(), settings, iterations=1)
    expanded = [{g.state(node) for node in range(len(g)) if g.is_expanded(node)} for g in graphs]
    assert expanded == [{0, 1, 2}, {1}, set()]


def test_above_the_threshold_actions_are_sampled_and_no_state_counts_as_expanded(
    graphs: list[CheckedGraph],
) -> None:
    policy = ScriptedPolicy({0: [steps("up", confidence=0.1), steps("leap", confidence=0.1), steps("nonsense")]})
    settings = OclgenSettings(policy_expansion_threshold=2, policy_expansion_samples=5, n_init=0, samples=1)
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=1)
    assert policy.calls[1] == {"states": [0], "samples": 5, "max_tokens": None, "max_actions": 1}
    assert {graphs[0].state(target) for target, _ in graphs[0].transitions(0)} == {1, 5}
    assert not graphs[0].is_expanded(0)
    assert result.counters.expanded == 1


def test_actions_of_a_state_are_sampled_once_however_often_rollouts_pass_it() -> None:
    unsure = [steps("up", "up", confidence=0.1), steps("up", "down", "leap", confidence=0.1)]
    back = {start: [steps(*["down"] * start, confidence=0.1)] for start in (2, 5)}
    policy = ScriptedPolicy({0: unsure, 1: [steps("up")], **back})
    settings = OclgenSettings(policy_expansion_threshold=2, policy_expansion_samples=5, n_init=0, samples=2)
    solve(LINE, policy, ExactHeuristic(), settings, iterations=2)
    sampled = [state for call in policy.calls if call["max_actions"] == 1 for state in call["states"]]  # type: ignore[attr-defined]
    assert {0, 1} <= set(sampled) and len(sampled) == len(set(sampled))


def test_at_the_threshold_successors_are_still_enumerated() -> None:
    policy = ScriptedPolicy({0: [steps("up", confidence=0.1)]})
    settings = OclgenSettings(policy_expansion_threshold=3, n_init=0, samples=1)
    solve(LINE, policy, ExactHeuristic(), settings, iterations=1)
    assert [call["max_actions"] for call in policy.calls] == [None]


@pytest.mark.parametrize(("most", "sampled"), [(1, [0]), (2, []), (None, [])])
def test_states_with_many_applicable_actions_are_sampled(most: int | None, sampled: list[int]) -> None:
    policy = ScriptedPolicy({0: [steps("up", confidence=0.1)]})
    settings = OclgenSettings(most_children=most, n_init=0, samples=1)
    solve(LINE, policy, ExactHeuristic(), settings, iterations=1)
    assert [call["states"] for call in policy.calls if call["max_actions"] == 1] == ([sampled] if sampled else [])


def test_with_a_plan_states_with_many_applicable_actions_are_sampled_only_beyond_the_papers_threshold() -> None:
    for threshold, sampled in ((3, []), (2, [[0]])):
        policy = ScriptedPolicy({0: [steps("up", confidence=0.1)]})
        settings = OclgenSettings(
            most_children=1, policy_expansion_threshold=threshold, depth_selection="scan", n_init=0, samples=1
        )
        solve(LINE, policy, ExactHeuristic(), settings, iterations=1, start=(("up",),) * 12)
        assert [call["states"] for call in policy.calls if call["max_actions"] == 1] == sampled


def test_a_search_that_samples_many_children_still_exhausts_a_finite_state_space() -> None:
    policy = ScriptedPolicy({})
    task = NumberLine(goal=10**6, size=6)
    settings = OclgenSettings(most_children=0, n_init=0, samples=1)
    assert solve(task, policy, ExactHeuristic(), settings, iterations=1000).ending is Ending.EXHAUSTED


class Backwards:
    """Workers that begin with the last item."""

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [work(item) for item in reversed(items)][::-1]


def test_several_nodes_of_an_iteration_grow_independently_of_one_another() -> None:
    settings = OclgenSettings(nodes_per_iteration=3, n_init=2, depth_selection="scan")
    results = []
    for workers in (None, Backwards()):
        policy = WanderingPolicy(blunder=0.3)
        results.append(solve(LINE, policy, ExactHeuristic(), settings, iterations=1, workers=workers))
        states: list[Any] = [call["states"] for call in policy.calls[2:5]]
        assert len({state for [state] in states}) == 3
    one, other = results
    assert one.counters.rollouts == 2 * 10 + 3 * 10
    assert (one.plan, one.counters) == (other.plan, other.counters)


def corridors() -> tuple[DigraphTask, ScriptedPolicy]:
    """From 0: a corridor to the choice at 3, one to the dead end 6, one into the cycle 7-8, and one step to 9."""
    edges = {0: (1, 4, 7, 9), 1: (2,), 2: (3,), 3: (0, 9), 4: (5,), 5: (6,), 7: (8,), 8: (7,), 9: (0, 10)}
    return DigraphTask(edges, frozenset({10})), ScriptedPolicy({0: [steps("go 1", confidence=0.1)]})


def test_with_pass_through_an_expansion_evaluates_only_choices_and_dead_ends() -> None:
    for pass_through, asked in ((False, {0, 1, 4, 7, 9}), (True, {0, 3, 6, 8, 9, 1})):
        (task, policy), heuristic = corridors(), RandomHeuristic()
        settings = OclgenSettings(pass_through=pass_through, n_init=0, samples=1, max_tokens=1)
        solve(task, policy, heuristic, settings, iterations=1)
        assert {state for batch in heuristic.asked for state in batch} == asked


def test_with_pass_through_forced_states_are_not_open(graphs: list[CheckedGraph]) -> None:
    for pass_through in (False, True):
        task, policy = corridors()
        settings = OclgenSettings(pass_through=pass_through, n_init=0, samples=1, max_tokens=1)
        solve(task, policy, RandomHeuristic(), settings, iterations=1)
    opened = [{graph.state(node) for _, node in graph.open_nodes()} for graph in graphs]
    assert opened == [{1, 4, 7, 9}, {3, 8, 9}]
    passed = graphs[1]
    assert passed.h(passed.node(2)) == passed.h(passed.node(3)) + 1


def test_the_defaults_are_the_papers_and_its_profile_has_no_extension() -> None:
    paper = OclgenSettings(**PROFILES["paper"])
    assert (paper.n_init, paper.samples, paper.max_tokens, paper.confidence) == (3, 10, 50, 0.95)
    assert (paper.policy_expansion_threshold, paper.policy_expansion_samples) == (10**7, 32)
    assert (paper.initial_rollouts, paper.prune, paper.nodes_per_iteration) == ("full", False, 1)
    assert not paper.shortcut and not paper.eliminate
    assert paper == OclgenSettings()
    assert METHODS["oclgen"].in_profile("extended") != paper


@pytest.mark.parametrize(
    ("setting", "value", "rule"),
    [
        ("depth_selection", "deep", "one of uniform, scan, none, not 'deep'"),
        ("initial_rollouts", "some", "one of full, chained, not 'some'"),
        ("n_init", -1, "at least 0, not -1"),
        ("samples", 0, "at least 1, not 0"),
        ("max_tokens", 0, "at least 1, not 0"),
        ("nodes_per_iteration", 0, "at least 1, not 0"),
        ("policy_expansion_samples", 0, "at least 1, not 0"),
        ("policy_expansion_threshold", -1, "at least 0, not -1"),
        ("most_children", -1, "at least 0, not -1"),
    ],
)
def test_a_setting_out_of_range_is_refused_with_its_name_and_the_rule(setting: str, value: object, rule: str) -> None:
    with pytest.raises(InputError) as refused:
        OclgenSettings(**{setting: value})  # type: ignore[arg-type]
    assert str(refused.value) == f"{setting} must be {rule}"


@pytest.mark.parametrize("confidence", [-0.01, 1.01])
def test_a_confidence_that_is_no_probability_is_refused(confidence: float) -> None:
    with pytest.raises(InputError) as refused:
        OclgenSettings(confidence=confidence)
    assert str(refused.value) == f"confidence must lie between 0 and 1, not {confidence}"


def test_settings_at_their_limits_are_accepted() -> None:
    for confidence in (0.0, 1.0):
        OclgenSettings(
            n_init=0,
            samples=1,
            max_tokens=1,
            nodes_per_iteration=1,
            policy_expansion_samples=1,
            policy_expansion_threshold=0,
            confidence=confidence,
        )


def test_actions_are_enumerated_up_to_the_threshold() -> None:
    settings = OclgenSettings(policy_expansion_threshold=3)
    assert settings.enumerates(NumberLine(ground_action_bound=3))
    assert not settings.enumerates(NumberLine(ground_action_bound=4))


def test_every_combination_of_extensions_solves_the_line_optimally() -> None:
    for chained in ("full", "chained"):
        for prune in (False, True):
            for nodes in (1, 4):
                settings = OclgenSettings(
                    initial_rollouts=chained,
                    prune=prune,
                    follow=prune,
                    nodes_per_iteration=nodes,
                    shortcut=prune,
                    eliminate=prune,
                    pass_through=prune,
                )
                result = solve(LINE, WanderingPolicy(), ExactHeuristic(), settings, iterations=500)
                assert result.ending is Ending.EXHAUSTED
                assert result.plan is not None
                assert len(result.plan) == 4
