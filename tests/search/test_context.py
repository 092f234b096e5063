"""Replayed and chained rollouts, trajectories out of a state, batches for the heuristic."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from oclgen.interfaces import Rollout, State, Step, Task
from oclgen.search.anytime import Budget, Counters
from oclgen.search.context import EVALUATION_BATCH, SearchContext, Trajectory, replay, successors
from oclgen.search.extensions.chained_rollouts import chained_rollouts
from tests.toy import DigraphTask, NumberLine, RandomHeuristic, ScriptedPolicy, steps

LINE = NumberLine(start=0, goal=12, size=20, stride=5)


def make_context(
    task: Task = LINE, policy: Any = None, heuristic: Any = None, budget: Budget | None = None
) -> SearchContext:
    return SearchContext(task, policy, heuristic, budget or Budget(), random.Random(0), Counters())


def test_replay_stops_before_an_inapplicable_action_and_at_the_goal() -> None:
    assert replay(LINE, 0, steps("up", "down", "down", "up")).states == (0, 1, 0)
    assert replay(LINE, 10, steps("up", "up", "up")).states == (10, 11, 12)
    assert replay(LINE, 12, steps("up")).steps == ()
    assert replay(LINE, 0, (Step(("fly",), 1.0),)).states == (0,)


def test_replay_keeps_one_step_less_than_states_and_says_whether_the_goal_was_reached() -> None:
    rollout = steps("up", "up", "up", confidence=0.3)
    assert replay(LINE, 10, rollout) == Trajectory((10, 11, 12), rollout[:2], reaches_goal=True)
    assert replay(LINE, 8, rollout) == Trajectory((8, 9, 10, 11), rollout, reaches_goal=False)
    assert replay(LINE, 12, rollout) == Trajectory((12,), (), reaches_goal=True)


def test_a_trajectory_continues_at_its_last_state() -> None:
    first, second = replay(LINE, 8, steps("up", "up")), replay(LINE, 10, steps("up", "up"))
    both = first.then(second)
    assert both == replay(LINE, 8, steps("up", "up", "up", "up"))
    assert both.actions == (("up",),) * 4


def test_a_cut_trajectory_no_longer_reaches_the_goal() -> None:
    whole = replay(LINE, 9, steps("up", "up", "up"))
    assert whole.cut(3) is whole and whole.cut(4) is whole
    assert whole.cut(2) == Trajectory((9, 10, 11), whole.steps[:2], reaches_goal=False)
    assert whole.cut(0) == Trajectory((9,), (), reaches_goal=False)


def test_successors_are_the_applicable_actions_with_their_states() -> None:
    assert successors(LINE, 0) == [(("up",), 1), (("leap",), 5)]


def test_rollouts_of_several_states_are_replayed_and_counted() -> None:
    policy = ScriptedPolicy({0: [steps("up")], 3: [steps("leap"), steps("down", "nonsense")]})
    context = make_context(policy=policy)
    batches = context.sample([0, 3], 2, max_tokens=7, max_actions=4)
    assert [[rollout.states for rollout in batch] for batch in batches] == [[(0, 1), (0, 1)], [(3, 8), (3, 2)]]
    assert policy.calls == [{"states": [0, 3], "samples": 2, "max_tokens": 7, "max_actions": 4}]
    assert context.counters.rollouts == 4


def test_the_policy_gets_the_task_the_generator_and_the_budget() -> None:
    given: list[Any] = []

    class Listening(ScriptedPolicy):
        def rollouts(
            self, task: Task, states: Sequence[State], samples: int, rng: random.Random, **options: Any
        ) -> list[list[Rollout]]:
            given.extend([task, rng, options["should_stop"]])
            return super().rollouts(task, states, samples, rng, **options)

        def priors(self, task: Task, state: State, actions: Any) -> list[float]:
            given.append(task)
            return super().priors(task, state, actions)

    context = make_context(policy=Listening({}, priors={0: {("up",): 3.0}}))
    context.sample([0], 1)
    assert context.priors(0, [("up",), ("leap",)]) == [0.75, 0.25]
    assert given[0] is LINE and given[1] is context.rng and given[3] is LINE
    should_stop: Callable[[], bool] = given[2]
    assert not should_stop()
    context.budget.interrupt()
    assert should_stop()


def test_without_actions_the_policy_is_not_asked_for_priors() -> None:
    class Mute(ScriptedPolicy):
        def priors(self, task: Task, state: State, actions: Any) -> list[float]:
            raise AssertionError

    assert make_context(policy=Mute({})).priors(0, []) == []


class Short(ScriptedPolicy):
    """Returns one batch too few."""

    def rollouts(self, *arguments: Any, **options: Any) -> list[list[Rollout]]:
        return super().rollouts(*arguments, **options)[1:]


def test_models_that_answer_for_too_few_states_are_a_defect() -> None:
    with pytest.raises(ValueError, match="zip"):
        make_context(policy=Short({})).sample([0, 1], 1)

    class ShortHeuristic(RandomHeuristic):
        def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
            return super().estimate(task, states)[1:]

    with pytest.raises(ValueError, match="zip"):
        make_context(heuristic=ShortHeuristic()).estimate([0, 1])


def test_chained_rollouts_continue_until_the_goal_an_empty_rollout_or_the_limit() -> None:
    script = {0: [steps("up"), steps("leap"), ()], 1: [steps("up")], 5: [steps("leap")], 10: [steps("up", "up")]}
    policy = ScriptedPolicy(script)
    context = make_context(policy=policy)
    chains = chained_rollouts(context, 0, samples=3, links=4, max_tokens=6)
    assert [chain.states for chain in chains] == [(0, 1, 2), (0, 5, 10, 11, 12), (0,)]
    assert [chain.reaches_goal for chain in chains] == [False, True, False]
    assert [call["states"] for call in policy.calls] == [[0], [1, 5], [2, 10]]
    assert [call["samples"] for call in policy.calls] == [3, 1, 1]
    assert {call["max_tokens"] for call in policy.calls} == {6}
    assert context.counters.rollouts == 7


def test_rollouts_are_not_chained_after_the_budget_has_ended() -> None:
    budget = Budget()

    class Interrupting(ScriptedPolicy):
        def rollouts(self, *arguments: Any, **options: Any) -> list[list[Rollout]]:
            batches = super().rollouts(*arguments, **options)
            budget.interrupt()
            return batches

    policy = Interrupting({0: [steps("up")], 1: [steps("up")]})
    [chain] = chained_rollouts(make_context(policy=policy, budget=budget), 0, samples=1, links=3)
    assert chain.states == (0, 1)


CORRIDORS = DigraphTask(
    {0: (1, 4, 6, 8), 1: (2,), 2: (3,), 3: (0, 9), 4: (5,), 6: (7,), 7: (6,), 8: (9,)}, frozenset({9})
)


def test_a_trajectory_out_of_a_state_is_one_step() -> None:
    outgoing = make_context(CORRIDORS).outgoing(0, pass_through=False)
    assert [trajectory.states for trajectory in outgoing] == [(0, 1), (0, 4), (0, 6), (0, 8)]
    assert outgoing[0].steps == steps("go 1", confidence=1.0)


def test_with_pass_through_it_ends_at_a_choice_a_dead_end_a_goal_or_before_a_cycle_closes() -> None:
    outgoing = make_context(CORRIDORS).outgoing(0, pass_through=True)
    assert [trajectory.states for trajectory in outgoing] == [(0, 1, 2, 3), (0, 4, 5), (0, 6, 7), (0, 8, 9)]
    assert [trajectory.reaches_goal for trajectory in outgoing] == [False, False, False, True]
    assert outgoing[0].steps == steps("go 1", "go 2", "go 3", confidence=1.0)


def test_without_time_it_does_not_pass_through() -> None:
    outgoing = make_context(CORRIDORS, budget=Budget(seconds=0.0)).outgoing(0, pass_through=True)
    assert [trajectory.states for trajectory in outgoing] == [(0, 1), (0, 4), (0, 6), (0, 8)]


def test_the_heuristic_gets_each_state_once_in_small_batches_and_no_goal() -> None:
    task, heuristic = NumberLine(goal=7, size=200), RandomHeuristic()
    context = make_context(task, heuristic=heuristic)
    states = [*range(EVALUATION_BATCH + 3), 0, 1]
    estimates = context.estimate(states)
    expected = [state for state in range(EVALUATION_BATCH + 3) if state != 7]
    assert heuristic.asked == [expected[:EVALUATION_BATCH], expected[EVALUATION_BATCH:]]
    assert list(estimates) == [7, *expected]
    assert estimates[7] == 0.0
    assert [estimates[state] for state in expected] == RandomHeuristic().estimate(task, expected)
    assert context.counters.evaluated == len(expected)


def test_states_that_the_budget_leaves_no_time_for_have_no_estimate() -> None:
    budget = Budget()

    class Interrupting(RandomHeuristic):
        def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
            budget.interrupt()
            return super().estimate(task, states)

    task = NumberLine(goal=99, size=200)
    context = make_context(task, heuristic=Interrupting(), budget=budget)
    assert list(context.estimate([99, *range(50)])) == [99, *range(EVALUATION_BATCH)]
