"""Each setting of OCLGen does what it says: every test here fails if its setting is ignored."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from oclgen.errors import InputError
from oclgen.interfaces import State, Step, Task
from oclgen.search.anytime import Counters, Ending
from oclgen.search.chaining import PATIENCE, RESTART_INTERVAL, RETRY_INTERVAL
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


def test_uniform_selection_draws_every_depth_above_the_best_goal_equally_often() -> None:
    counts = Counter(depths_chosen(line_graph(9, goal=6), OclgenSettings(depth_selection="uniform"), 3000))
    assert set(counts) == {0, 1, 2, 3, 4, 5}
    assert all(400 < count < 600 for count in counts.values())


def test_scan_selection_goes_round_the_open_depths_in_order() -> None:
    graph = line_graph(9, goal=5)
    graph.extract(2)
    chosen = depths_chosen(graph, OclgenSettings(depth_selection="scan"), 9)
    assert chosen == [0, 1, 3, 4, 0, 1, 3, 4, 0]


def test_before_the_first_plan_the_deepest_level_is_taken_only_when_all_others_are_empty() -> None:
    graph, settings = line_graph(2), OclgenSettings(depth_selection="scan")
    assert depths_chosen(graph, settings, 4) == [0, 1, 0, 1]
    graph.extract(0)
    graph.extract(1)
    assert depths_chosen(graph, settings, 2) == [2, 2]
    graph.extract(2)
    assert depths_chosen(graph, settings, 1) == [None]


def test_without_depth_selection_the_least_f_is_taken_wherever_it_lies(graphs: list[CheckedGraph]) -> None:
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


def test_only_nodes_left_with_less_confidence_than_the_threshold_are_expanded(graphs: list[CheckedGraph]) -> None:
    rollout = (Step(("up",), 0.9), Step(("up",), 0.5), Step(("up",), 0.9))
    for confidence in (0.95, 0.6, 0.5):
        settings = OclgenSettings(confidence=confidence, n_init=0, samples=1)
        solve(LINE, ScriptedPolicy({0: [rollout]}), ExactHeuristic(), settings, iterations=1)
    expanded = [{g.state(node) for node in range(len(g)) if g.is_expanded(node)} for g in graphs]
    assert expanded == [{0, 1, 2}, {1}, set()]


def test_beyond_the_threshold_successors_are_sampled_and_nothing_counts_as_expanded(
    graphs: list[CheckedGraph],
) -> None:
    policy = ScriptedPolicy({0: [steps("up", confidence=0.1), steps("leap", confidence=0.1), steps("nonsense")]})
    settings = OclgenSettings(policy_expansion_threshold=2, policy_expansion_samples=5, n_init=0, samples=1)
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=1)
    assert policy.calls[1] == {"states": [0], "samples": 5, "max_tokens": None, "max_actions": 1}
    assert {graphs[0].state(target) for target, _ in graphs[0].transitions(0)} == {1, 5}
    assert not graphs[0].is_expanded(0)
    assert result.counters.expanded == 1


def test_at_the_threshold_successors_are_still_enumerated() -> None:
    policy = ScriptedPolicy({0: [steps("up", confidence=0.1)]})
    settings = OclgenSettings(policy_expansion_threshold=3, n_init=0, samples=1)
    solve(LINE, policy, ExactHeuristic(), settings, iterations=1)
    assert [call["max_actions"] for call in policy.calls] == [None]


def short_sighted(line: NumberLine) -> ScriptedPolicy:
    """Two good steps from each place, then an action that does not exist."""
    return ScriptedPolicy({place: [steps("up", "up", "nonsense")] for place in range(line.size)})


def test_chained_initial_rollouts_go_on_from_the_most_promising_end() -> None:
    for chained, length in (("full", None), ("chained", 12)):
        policy = short_sighted(LINE)
        settings = OclgenSettings(initial_rollouts=chained, n_init=1)  # type: ignore[arg-type]
        result = solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
        assert (None if result.plan is None else len(result.plan)) == length
    assert [call["states"] for call in policy.calls] == [[0], [2], [4], [6], [8], [0], [10]]


def test_a_chain_that_comes_no_nearer_begins_at_the_start_again_now_and_then() -> None:
    policy = ScriptedPolicy({place: [steps("up", "up")] for place in range(100)})
    wrong_way = NumberLine(start=20, goal=0, size=100)
    settings = OclgenSettings(initial_rollouts="chained", n_init=1, samples=1)
    solve(wrong_way, policy, ExactHeuristic(), settings, iterations=0)
    first = [call["states"] for call in policy.calls[: 2 * RESTART_INTERVAL + 1]]
    assert [i for i, states in enumerate(first) if states == [20]] == [0, RESTART_INTERVAL, 2 * RESTART_INTERVAL]


def test_a_chain_that_comes_no_nearer_gives_up() -> None:
    policy = ScriptedPolicy({place: [steps("up", "up")] for place in range(100)})
    wrong_way = NumberLine(start=20, goal=0, size=100)
    settings = OclgenSettings(initial_rollouts="chained", n_init=1)
    result = solve(wrong_way, policy, ExactHeuristic(), settings, iterations=0)
    assert result.plan is None
    assert len(policy.calls) == 1 + PATIENCE


def test_a_chain_that_is_stuck_goes_back_to_the_next_best_end() -> None:
    script = {0: [steps("leap"), steps("up", "up", "up")], 3: [steps("up", "leap")], 9: [steps("up", "up", "up")]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=1, samples=2)
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
    assert [call["states"] for call in policy.calls] == [[0], [5], [3], [9]]
    assert result.plan is not None and len(result.plan) == 8


def test_a_chain_goes_on_from_its_newest_end_in_turns_though_the_heuristic_prefers_others() -> None:
    class Backwards:
        """Prefers what is near the start."""

        def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
            return [float(state) for state in states if isinstance(state, int)]

    script = {0: [steps("up"), steps("leap")], 1: [steps("up", "up", "leap")], 8: [steps("up", "up", "up", "up")]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=1, samples=2)
    result = solve(LINE, policy, Backwards(), settings, iterations=0)
    assert [call["states"] for call in policy.calls] == [[0], [1], [8]]
    assert result.plan is not None and len(result.plan) == 8


def test_later_chains_go_no_further_than_where_a_better_plan_can_be() -> None:
    script = {place: [steps("up", "up", "up", "up")] for place in range(20)}
    for prune, limits in ((True, [None] * 3 + [11, 7, 3]), (False, [None] * 6)):
        policy = ScriptedPolicy(script)
        settings = OclgenSettings(initial_rollouts="chained", n_init=2, samples=1, prune=prune)
        solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
        assert [call["max_actions"] for call in policy.calls] == limits


def test_a_chain_leaves_out_ends_from_which_no_better_plan_can_be() -> None:
    script = {0: [steps(*["up"] * 9), steps("leap", "leap")], 10: [steps("up", "up")], 3: [steps("up")]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=3, samples=2, prune=True)
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
    assert result.plan is not None and len(result.plan) == 4
    assert [call["states"] for call in policy.calls] == [[0], [10], [0], [10], [0], [10]]


def test_a_chain_leaves_out_an_end_that_a_shorter_plan_has_overtaken_meanwhile() -> None:
    def walk(*targets: int) -> tuple[Step, ...]:
        return tuple(Step(("go", str(target)), 1.0) for target in targets)

    way, astray = range(1, 11), range(20, 26)
    edges = {place: (place + 1,) for place in (*way, *astray)} | {0: (1, 20, 30), 30: (9,)}
    script = {0: [walk(*way), walk(*way), walk(*astray), walk(30)], 30: [walk(9)]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=2, samples=2, prune=True)
    result = solve(DigraphTask(edges, frozenset({10})), policy, ExactHeuristic(), settings, iterations=0)
    assert [length for _, length in result.trace] == [10, 3]
    assert [call["states"] for call in policy.calls] == [[0], [0], [30]]


def test_another_chain_is_tried_now_and_then_as_long_as_there_is_no_plan() -> None:
    wrong_way = NumberLine(start=200, goal=0, size=400)
    right_way = NumberLine(start=20, goal=24, size=400)
    for line, chained, times in ((wrong_way, "chained", 3), (wrong_way, "full", 1), (right_way, "chained", 1)):
        policy = ScriptedPolicy({place: [steps("up")] for place in range(400)})
        settings = OclgenSettings(initial_rollouts=chained, n_init=1, samples=1)  # type: ignore[arg-type]
        solve(line, policy, ExactHeuristic(), settings, iterations=2 * RETRY_INTERVAL + 1)
        chains = ["chain" if call["max_tokens"] is None else "iteration" for call in policy.calls]
        begun = [now for before, now in zip(["iteration", *chains], chains, strict=False) if now != before]
        assert begun.count("chain") == times


def test_a_chain_that_runs_in_a_circle_gives_up() -> None:
    policy = ScriptedPolicy({0: [steps("up")], 1: [steps("down")]})
    settings = OclgenSettings(initial_rollouts="chained", n_init=1)
    solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
    assert [call["states"] for call in policy.calls] == [[0], [1]]


def test_pruning_limits_rollouts_to_what_can_improve_the_plan() -> None:
    script = {place: [steps(*["up"] * 12, confidence=0.99)] for place in range(20)}
    for prune in (False, True):
        policy = ScriptedPolicy(script)
        settings = OclgenSettings(prune=prune, n_init=1, samples=1, depth_selection="scan")
        solve(LINE, policy, ExactHeuristic(), settings, iterations=13)
        limits = [call["max_actions"] for call in policy.calls[1:]]
        assert limits[:11] == ([11 - depth for depth in range(11)] if prune else [None] * 11)
    assert [call["states"] for call in policy.calls[1:12]] == [[depth] for depth in range(11)]


def test_pruning_selects_nothing_one_step_above_the_best_goal(graphs: list[CheckedGraph]) -> None:
    script = {place: [steps(*["up"] * 12, confidence=0.99)] for place in range(20)}
    for prune in (False, True):
        settings = OclgenSettings(prune=prune, n_init=1, samples=1, depth_selection="scan", adaptive_expansion=False)
        solve(LINE, ScriptedPolicy(script), ExactHeuristic(), settings, iterations=12)
    assert 11 in graphs[0].selected
    assert 11 not in graphs[1].selected


def test_several_nodes_per_iteration_go_to_the_policy_as_one_batch() -> None:
    policy = WanderingPolicy(blunder=0.0)
    settings = OclgenSettings(nodes_per_iteration=3, n_init=2, depth_selection="scan")
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=1)
    states = policy.calls[-1]["states"]
    assert isinstance(states, list)
    assert len(set(states)) == 3
    assert result.counters.rollouts == 2 * 10 + 3 * 10


def corridors() -> tuple[DigraphTask, ScriptedPolicy]:
    """From 0 one corridor to the choice at 3, one into a dead end at 6, one round in a circle, and one step to 9."""
    edges = {0: (1, 4, 7, 9), 1: (2,), 2: (3,), 3: (0, 9), 4: (5,), 5: (6,), 7: (8,), 8: (7,), 9: (0, 10)}
    return DigraphTask(edges, frozenset({10})), ScriptedPolicy({0: [steps("go 1", confidence=0.1)]})


def test_an_expansion_that_passes_through_evaluates_only_where_there_is_a_choice_or_no_way_on() -> None:
    for passing, asked in ((False, {0, 1, 4, 7, 9}), (True, {0, 3, 6, 8, 9, 1})):
        (task, policy), heuristic = corridors(), RandomHeuristic()
        settings = OclgenSettings(pass_through=passing, n_init=0, samples=1, max_tokens=1)
        solve(task, policy, heuristic, settings, iterations=1)
        assert {state for batch in heuristic.asked for state in batch} == asked


def test_states_that_leave_no_choice_are_not_open_when_passing_through(graphs: list[CheckedGraph]) -> None:
    for passing in (False, True):
        task, policy = corridors()
        settings = OclgenSettings(pass_through=passing, n_init=0, samples=1, max_tokens=1)
        solve(task, policy, RandomHeuristic(), settings, iterations=1)
    opened = [{graph.state(node) for _, node in graph.open_nodes()} for graph in graphs]
    assert opened == [{1, 4, 7, 9}, {3, 8, 9}]
    passed = graphs[1]
    assert passed.h(passed.node(2)) == passed.h(passed.node(3)) + 1


def detour() -> tuple[DigraphTask, ScriptedPolicy]:
    """A plan 0-1-2-3-4 in which the unseen transition 0-3 saves two steps."""
    task = DigraphTask({0: (1, 3), 1: (2,), 2: (3,), 3: (4,)}, frozenset({4}))
    return task, ScriptedPolicy({0: [steps("go 1", "go 2", "go 3", "go 4")]})


def test_shortcuts_join_known_states_by_transitions_that_no_rollout_took() -> None:
    for shortcut, lengths in ((False, [4]), (True, [4, 2])):
        task, policy = detour()
        settings = OclgenSettings(shortcut=shortcut, n_init=1, samples=1)
        result = solve(task, policy, RandomHeuristic(), settings, iterations=0)
        assert [length for _, length in result.trace] == lengths


def test_a_shortcut_finds_a_goal_beside_the_plan() -> None:
    task = DigraphTask({0: (1,), 1: (2, 5), 2: (3,), 3: (4,)}, frozenset({4, 5}))
    policy = ScriptedPolicy({0: [steps("go 1", "go 2", "go 3", "go 4")]})
    result = solve(task, policy, RandomHeuristic(), OclgenSettings(shortcut=True, n_init=1, samples=1), iterations=0)
    assert result.plan == (("go", "1"), ("go", "5"))


def test_actions_that_a_plan_can_do_without_are_left_out() -> None:
    for extension, lengths in ((False, [4]), (True, [4, 2])):
        task, policy = detour()
        settings = OclgenSettings(eliminate=extension, n_init=1, samples=1)
        result = solve(task, policy, RandomHeuristic(), settings, iterations=0)
        assert [length for _, length in result.trace] == lengths


def test_the_defaults_are_the_papers_and_its_profile_has_no_extension() -> None:
    paper = OclgenSettings(**PROFILES["paper"])
    assert (paper.n_init, paper.samples, paper.max_tokens, paper.confidence) == (3, 10, 50, 0.95)
    assert (paper.policy_expansion_threshold, paper.policy_expansion_samples) == (10**7, 32)
    assert (paper.initial_rollouts, paper.prune, paper.nodes_per_iteration) == ("full", False, 1)
    assert not paper.shortcut and not paper.eliminate
    assert paper == OclgenSettings()
    assert OclgenSettings(**PROFILES["extended"]) != paper


@pytest.mark.parametrize(
    "wrong",
    [
        {"depth_selection": "deep"},
        {"initial_rollouts": "some"},
        {"n_init": -1},
        {"samples": 0},
        {"max_tokens": 0},
        {"confidence": 1.5},
        {"nodes_per_iteration": 0},
        {"policy_expansion_samples": 0},
        {"policy_expansion_threshold": -1},
    ],
)
def test_settings_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        OclgenSettings(**wrong)


def test_every_combination_of_extensions_solves_the_line_optimally() -> None:
    for chained in ("full", "chained"):
        for prune in (False, True):
            for nodes in (1, 4):
                settings = OclgenSettings(
                    initial_rollouts=chained,
                    prune=prune,
                    nodes_per_iteration=nodes,
                    shortcut=prune,
                    eliminate=prune,
                    pass_through=prune,
                )
                result = solve(LINE, WanderingPolicy(), ExactHeuristic(), settings, iterations=500)
                assert result.ending is Ending.EXHAUSTED
                assert result.plan is not None
                assert len(result.plan) == 4
