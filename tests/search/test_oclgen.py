"""The steps of Algorithm 1, what it proves, and how it keeps to its budget."""

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from oclgen.interfaces import State, Step, Task
from oclgen.search.anytime import Budget, Ending
from oclgen.search.graph import ROOT
from oclgen.search.settings import OclgenSettings
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


def test_no_state_is_evaluated_twice() -> None:
    heuristic = ExactHeuristic()
    settings = OclgenSettings(n_init=2)
    solve(LINE, WanderingPolicy(), heuristic, settings, iterations=30)
    asked = [state for batch in heuristic.asked for state in batch]
    assert len(asked) == len(set(asked))


def test_the_graph_stays_consistent_during_random_searches(monkeypatch: pytest.MonkeyPatch) -> None:
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
        follow=rng.random() < 0.5,
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
def test_a_finite_state_space_is_searched_completely_even_with_a_useless_policy(policy: WanderingPolicy) -> None:
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


def test_without_adaptive_expansion_sampling_goes_on_when_all_open_lists_are_empty() -> None:
    settings = OclgenSettings(adaptive_expansion=False, n_init=0, samples=1)
    policy = ScriptedPolicy({0: [steps("up"), steps("leap")]})
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=6)
    assert result.ending is Ending.ITERATIONS
    asked_at_start = [call for call in policy.calls if call["states"] == [0]]
    assert len(asked_at_start) > 1


def test_each_plan_is_shorter_than_the_one_before_and_reaches_the_goal() -> None:
    lengths = []
    for seed in range(20):
        result = solve(LINE, WanderingPolicy(), RandomHeuristic(seed), OclgenSettings(samples=2), seed=seed)
        assert result.plan is not None
        assert replays_to_goal(LINE, result.plan)
        trace = [length for _, length in result.trace]
        assert trace == sorted(set(trace), reverse=True)
        lengths.append(len(trace))
    assert max(lengths) > 1


def test_an_initial_state_that_is_a_goal_needs_no_models() -> None:
    result = solve(replace(LINE, start=12), None, None)
    assert (result.plan, result.ending) == ((), Ending.EXHAUSTED)


def test_an_unsolvable_task_is_proved_so() -> None:
    result = solve(NumberLine(goal=99), WanderingPolicy(), RandomHeuristic(), iterations=1000)
    assert (result.plan, result.ending) == (None, Ending.EXHAUSTED)


def test_the_same_seed_gives_the_same_search_and_another_seed_another_search() -> None:
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
    """Interrupts the budget inside its n-th call."""

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
def test_no_model_is_called_after_the_budget_has_ended(call: int) -> None:
    policy = InterruptingPolicy(call)
    task = NumberLine(goal=60, size=90)
    result = solve(task, policy, policy.heuristic, OclgenSettings(shortcut=True), budget=policy.budget)
    assert result.ending is Ending.INTERRUPTED
    assert len(policy.calls) == call
    assert len(policy.heuristic.asked) == policy.asked_before


def test_a_plan_found_as_the_budget_ends_is_not_lost() -> None:
    budget = Budget()

    class InterruptingScript(ScriptedPolicy):
        def propose(self, task: Task, state: State, rng: random.Random, actions: int) -> Iterable[Step]:
            budget.interrupt()
            return super().propose(task, state, rng, actions)

    policy = InterruptingScript({0: [steps("leap", "leap", "up", "up")]})
    result = solve(LINE, policy, ExactHeuristic(), budget=budget)
    assert result.plan is not None
    assert result.ending is Ending.INTERRUPTED


def test_no_model_is_called_when_the_time_is_up_at_the_start() -> None:
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
