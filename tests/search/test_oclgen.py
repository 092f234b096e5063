"""The steps of Algorithm 1, its promises about plans and proofs, and its manners towards budgets."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pytest

from oclgen.interfaces import State, Step, Task
from oclgen.search.anytime import Budget, Counters, Ending
from oclgen.search.context import SearchContext, Trajectory, replay
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.settings import OclgenSettings
from oclgen.search.trajectories import Expansion, HeuristicValue, assign_heuristics
from tests.search.invariants import CheckedGraph, keep_graphs
from tests.search.running import solve
from tests.toy import (
    DigraphTask,
    ExactHeuristic,
    NumberLine,
    RandomHeuristic,
    ScriptedPolicy,
    WanderingPolicy,
    optimal_length,
    random_digraph,
    replays_to_goal,
    steps,
)

LINE = NumberLine(start=0, goal=12, size=20, stride=5)


@dataclass
class TenTimes:
    """Ten times the number: values that no sum of steps can be mistaken for."""

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


def test_a_rollout_that_reaches_the_goal_counts_the_steps_to_it_and_asks_nobody() -> None:
    estimates, asked = assigned([up(9, 8)])
    assert asked == []
    assert [estimates[state].h for state in (12, 11, 10, 9)] == [0.0, 1.0, 2.0, 3.0]


def test_where_rollouts_meet_the_least_backed_up_value_counts() -> None:
    estimates, _ = assigned([replay(LINE, 6, steps("up", "up", "up")), replay(LINE, 6, steps("up", "down", "down"))])
    assert estimates[7].h == 52.0


def test_a_state_that_the_heuristic_has_valued_is_not_asked_again_and_passes_its_value_on() -> None:
    graph = SearchGraph(0, LINE.is_goal, Counters())
    graph.add(graph.add(ROOT, ("up",), 1, 0.0, False), ("up",), 2, 20.0, evaluated=True)
    estimates, asked = assigned([up(0, 2)], graph=graph)
    assert asked == []
    assert estimates[1].h == 21.0


def test_an_iteration_asks_the_heuristic_about_each_state_once() -> None:
    heuristic = ExactHeuristic()
    settings = OclgenSettings(n_init=2)
    solve(LINE, WanderingPolicy(), heuristic, settings, iterations=30)
    asked = [state for batch in heuristic.asked for state in batch]
    assert len(asked) == len(set(asked))


def test_replay_stops_before_an_inapplicable_action_and_at_the_goal() -> None:
    assert replay(LINE, 0, steps("up", "down", "down", "up")).states == (0, 1, 0)
    assert replay(LINE, 10, steps("up", "up", "up")).states == (10, 11, 12)
    assert replay(LINE, 12, steps("up")).steps == ()
    assert replay(LINE, 0, (Step(("fly",), 1.0),)).states == (0,)


def test_the_books_hold_throughout_searches_of_hundreds_of_random_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_graphs(monkeypatch, "oclgen")
    for seed in range(200):
        rng = random.Random(seed)
        task = random_digraph(rng, rng.randint(3, 12), rng.randint(6, 30), goals=2)
        result = solve(task, WanderingPolicy(), RandomHeuristic(seed), random_settings(rng), iterations=12, seed=seed)
        assert result.plan is None or replays_to_goal(task, result.plan)


def random_settings(rng: random.Random) -> OclgenSettings:
    return OclgenSettings(
        depth_selection=rng.choice(["uniform", "scan", "none"]),
        adaptive_expansion=rng.random() < 0.8,
        n_init=rng.randint(0, 2),
        samples=rng.randint(1, 4),
        max_tokens=rng.randint(1, 6),
        confidence=rng.choice([0.0, 0.3, 0.95]),
        policy_expansion_threshold=rng.choice([0, 10**7]),
        policy_expansion_samples=rng.randint(1, 4),
        initial_rollouts=rng.choice(["full", "chained"]),
        prune=rng.random() < 0.5,
        nodes_per_iteration=rng.choice([1, 1, 3]),
        shortcut=rng.random() < 0.5,
        eliminate=rng.random() < 0.5,
        pass_through=rng.random() < 0.5,
    )


def test_exhaustion_is_claimed_only_when_it_is_true() -> None:
    claims = 0
    for seed in range(300):
        rng = random.Random(1000 + seed)
        task = replace(random_digraph(rng, 10, rng.randint(8, 24), goals=2), ground_action_bound=1)
        result = solve(task, WanderingPolicy(), RandomHeuristic(seed), random_settings(rng), iterations=60, seed=seed)
        if result.ending is Ending.EXHAUSTED:
            claims += 1
            assert (None if result.plan is None else len(result.plan)) == optimal_length(task)
    assert claims > 100


@pytest.mark.parametrize("policy", [WanderingPolicy(), WanderingPolicy(blunder=1.0), ScriptedPolicy({})])
def test_a_finite_space_is_searched_to_its_end_however_poor_the_policy(policy: WanderingPolicy) -> None:
    for seed in range(30):
        task = random_digraph(random.Random(seed), 12, 24, goals=1)
        result = solve(task, policy, RandomHeuristic(seed), OclgenSettings(confidence=0.0), iterations=1000)
        assert result.ending is Ending.EXHAUSTED
        assert (None if result.plan is None else len(result.plan)) == optimal_length(task)


def test_sampled_expansion_never_proves_that_there_is_no_plan() -> None:
    task = DigraphTask({0: (1,), 1: (0,)}, frozenset({2}), ground_action_bound=1)
    settings = OclgenSettings(policy_expansion_threshold=0)
    result = solve(task, WanderingPolicy(), RandomHeuristic(), settings, iterations=50)
    assert result.ending is Ending.ITERATIONS


def test_without_adaptive_expansion_search_goes_on_sampling_when_all_lists_are_empty() -> None:
    settings = OclgenSettings(adaptive_expansion=False, n_init=0, samples=1)
    policy = ScriptedPolicy({0: [steps("up"), steps("leap")]})
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=6)
    assert result.ending is Ending.ITERATIONS
    asked_at_start = [call for call in policy.calls if call["states"] == [0]]
    assert len(asked_at_start) > 1


def test_plans_come_out_ever_shorter_and_replay_to_the_goal() -> None:
    lengths = []
    for seed in range(20):
        result = solve(LINE, WanderingPolicy(), RandomHeuristic(seed), OclgenSettings(samples=2), seed=seed)
        assert result.plan is not None
        assert replays_to_goal(LINE, result.plan)
        trace = [length for _, length in result.trace]
        assert trace == sorted(set(trace), reverse=True)
        lengths.append(len(trace))
    assert max(lengths) > 1


def test_a_start_that_is_a_goal_needs_no_models() -> None:
    result = solve(replace(LINE, start=12), None, None)
    assert (result.plan, result.ending) == ((), Ending.EXHAUSTED)


def test_an_unsolvable_task_is_proved_so() -> None:
    result = solve(NumberLine(goal=99), WanderingPolicy(), RandomHeuristic(), iterations=1000)
    assert (result.plan, result.ending) == (None, Ending.EXHAUSTED)


def test_the_same_seed_gives_the_same_search_and_another_one_another() -> None:
    def visited(seed: int) -> tuple[object, ...]:
        policy = WanderingPolicy()
        result = solve(NumberLine(goal=60, size=90), policy, RandomHeuristic(), iterations=15, seed=seed)
        return result.plan, result.counters, policy.calls

    assert visited(1) == visited(1)
    assert visited(1) != visited(2)


def test_iterations_are_counted_and_bounded() -> None:
    result = solve(NumberLine(goal=600, size=900), WanderingPolicy(), RandomHeuristic(), iterations=7)
    assert result.ending is Ending.ITERATIONS
    assert result.counters.iterations == 7


class InterruptingPolicy(WanderingPolicy):
    """Ends the budget from inside its n-th call."""

    def __init__(self, call: int) -> None:
        super().__init__()
        self.budget = Budget()
        self.heuristic = RandomHeuristic()
        self.asked_before = 0
        self._call = call

    def propose(self, task: Task, state: State, rng: random.Random, actions: int) -> Iterable[Step]:
        if len(self.calls) >= self._call:
            self.budget.interrupt()
            self.asked_before = len(self.heuristic.asked)
        return super().propose(task, state, rng, actions)


@pytest.mark.parametrize("call", [1, 2, 5])
def test_no_model_is_asked_once_the_budget_has_ended(call: int) -> None:
    policy = InterruptingPolicy(call)
    task = NumberLine(goal=60, size=90)
    result = solve(task, policy, policy.heuristic, OclgenSettings(shortcut=True), budget=policy.budget)
    assert result.ending is Ending.INTERRUPTED
    assert len(policy.calls) == call
    assert len(policy.heuristic.asked) == policy.asked_before


def test_a_plan_found_as_the_budget_ends_is_not_lost() -> None:
    budget = Budget()

    class LastWords(ScriptedPolicy):
        def propose(self, task: Task, state: State, rng: random.Random, actions: int) -> Iterable[Step]:
            budget.interrupt()
            return super().propose(task, state, rng, actions)

    policy = LastWords({0: [steps("leap", "leap", "up", "up")]})
    result = solve(LINE, policy, ExactHeuristic(), budget=budget)
    assert result.plan is not None
    assert result.ending is Ending.INTERRUPTED


def test_a_spent_budget_ends_the_search_before_any_rollout() -> None:
    result = solve(LINE, WanderingPolicy(), ExactHeuristic(), budget=Budget(seconds=0.0))
    assert (result.plan, result.ending) == (None, Ending.TIME)
    assert result.counters.evaluated == 0


def test_a_selected_node_is_closed_and_its_rollout_opens_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: list[CheckedGraph] = keep_graphs(monkeypatch, "oclgen")
    policy = ScriptedPolicy({0: [steps("up", "up")]})
    solve(LINE, policy, ExactHeuristic(), OclgenSettings(n_init=0, samples=1), iterations=1)
    [graph] = graphs
    assert [graph.is_open(node) for node in range(3)] == [False, True, True]
    assert not graph.is_expanded(ROOT)
