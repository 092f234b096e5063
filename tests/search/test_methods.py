"""What holds for every registered method."""

import random
from collections.abc import Iterable

import pytest

from oclgen.interfaces import State, Step, Task
from oclgen.search import METHODS
from oclgen.search.anytime import Budget, Ending
from tests.search.running import solve
from tests.toy import (
    NumberLine,
    RandomHeuristic,
    WanderingPolicy,
    optimal_length,
    random_digraph,
    replays_to_goal,
)

ALL = sorted(METHODS)


@pytest.mark.parametrize("method", ALL)
def test_it_solves_random_tasks_with_valid_plans_each_shorter_than_the_one_before(method: str) -> None:
    solved = 0
    for seed in range(60):
        task = random_digraph(random.Random(seed), 12, 24, goals=2)
        result = solve(task, WanderingPolicy(), RandomHeuristic(seed), method=method, iterations=60, seed=seed)
        optimum = optimal_length(task)
        assert (result.plan is not None) == (optimum is not None)
        if result.plan is not None and optimum is not None:
            solved += 1
            assert replays_to_goal(task, result.plan)
            assert len(result.plan) >= optimum
        lengths = [length for _, length in result.trace]
        assert lengths == sorted(set(lengths), reverse=True)
    assert solved > 20


@pytest.mark.parametrize("method", ALL)
def test_it_claims_exhaustion_only_when_the_plan_is_optimal_or_there_is_none(method: str) -> None:
    iterations = 10 if method == "best-of-n" else 400  # Best-of-N never ends by itself
    for seed in range(60):
        task = random_digraph(random.Random(500 + seed), 9, 16, goals=1)
        result = solve(task, WanderingPolicy(), RandomHeuristic(seed), method=method, iterations=iterations, seed=seed)
        if result.ending is Ending.EXHAUSTED:
            assert (None if result.plan is None else len(result.plan)) == optimal_length(task)
        else:
            assert method == "best-of-n"


@pytest.mark.parametrize("method", ALL)
def test_the_same_seed_gives_the_same_result(method: str) -> None:
    task = NumberLine(goal=30, size=60)

    def outcome() -> tuple[object, ...]:
        policy = WanderingPolicy()
        result = solve(task, policy, RandomHeuristic(), method=method, iterations=25, seed=3)
        return result.plan, result.ending, result.counters, policy.calls

    assert outcome() == outcome()


@pytest.mark.parametrize("method", ALL)
def test_it_stops_after_its_iterations(method: str) -> None:
    task = NumberLine(goal=700, size=900)
    result = solve(task, WanderingPolicy(), RandomHeuristic(), method=method, iterations=9)
    assert result.ending is Ending.ITERATIONS
    assert result.counters.iterations == 9


@pytest.mark.parametrize("method", ALL)
def test_it_stops_when_interrupted_from_inside_a_model(method: str) -> None:
    budget = Budget()

    class Interrupting(WanderingPolicy):
        def propose(self, task: Task, state: State, rng: random.Random, actions: int) -> Iterable[Step]:
            if len(self.calls) == 4:
                budget.interrupt()
            return super().propose(task, state, rng, actions)

    class InterruptingHeuristic(RandomHeuristic):
        def estimate(self, task, states):  # type: ignore[no-untyped-def]
            if not METHODS[method].needs_policy and len(self.asked) == 4:
                budget.interrupt()
            return super().estimate(task, states)

    policy, heuristic = Interrupting(), InterruptingHeuristic()
    result = solve(NumberLine(goal=700, size=900), policy, heuristic, method=method, budget=budget)
    assert result.ending is Ending.INTERRUPTED
    assert len(policy.calls) <= 4


@pytest.mark.parametrize("method", ALL)
def test_it_calls_no_heuristic_when_the_time_is_up_at_the_start(method: str) -> None:
    policy, heuristic = WanderingPolicy(), RandomHeuristic()
    result = solve(NumberLine(), policy, heuristic, method=method, budget=Budget(seconds=0.0))
    assert result.ending is Ending.TIME
    assert result.counters.evaluated == 0


@pytest.mark.parametrize("method", ALL)
def test_an_initial_state_that_is_a_goal_gives_the_empty_plan(method: str) -> None:
    result = solve(NumberLine(start=3, goal=3), None, None, method=method)
    assert (result.plan, result.ending) == ((), Ending.EXHAUSTED)


@pytest.mark.parametrize("method", ALL)
def test_it_runs_without_the_models_it_says_it_does_not_need(method: str) -> None:
    chosen = METHODS[method]
    policy = WanderingPolicy() if chosen.needs_policy else None
    heuristic = RandomHeuristic() if chosen.needs_heuristic else None
    result = solve(NumberLine(), policy, heuristic, method=method, iterations=50)
    assert result.plan is not None
