"""Restricted decoding where free decoding gets nowhere."""

import random
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import pytest

from oclgen.interfaces import Rollout, State, Task
from oclgen.search.anytime import Budget, Counters
from oclgen.search.baselines.best_of_n import BestOfNSettings
from oclgen.search.baselines.mcts import MctsSettings
from oclgen.search.context import SearchContext, Trajectory
from oclgen.search.extensions.decoding import MOST_CHOICES
from oclgen.search.incumbent import SampledIncumbent
from oclgen.search.settings import OclgenSettings, Settings
from tests.search.running import solve
from tests.toy import DigraphTask, ExactHeuristic, NumberLine, ScriptedPolicy, TableHeuristic, steps

LINE = NumberLine(start=0, goal=6, size=20)
TURNS = OclgenSettings(initial_rollouts="chained", n_init=2, samples=1, adaptive_expansion=False, restrict_lost=True)


class Watched(ScriptedPolicy):
    """Records for each call whether it was restricted."""

    def __init__(self, script: Mapping[int, Sequence[Rollout]]) -> None:
        super().__init__(script)
        self.asked: list[bool] = []

    def rollouts(
        self, task: Task, states: Sequence[State], samples: int, rng: random.Random, **options: Any
    ) -> list[list[Rollout]]:
        self.asked.append(options["restricted"])
        return super().rollouts(task, states, samples, rng, **options)


class Lost(Watched):
    """Where rollouts of the `lost` kind are asked for, all begin with a mistake; the others go up."""

    def __init__(self, lost: bool = False) -> None:
        super().__init__({place: [steps("up", "up")] for place in range(20)})
        self.limits: list[int | None] = []
        self._lost = lost

    def rollouts(
        self, task: Task, states: Sequence[State], samples: int, rng: random.Random, **options: Any
    ) -> list[list[Rollout]]:
        self.limits.append(options["max_tokens"])
        batches = super().rollouts(task, states, samples, rng, **options)
        mistakes = [[steps("nonsense")] * samples for _ in states]
        return mistakes if options["restricted"] is self._lost else batches


def test_a_chain_of_mistakes_is_followed_by_a_restricted_one_and_the_search_stays_with_it() -> None:
    policy = Lost(lost=False)
    result = solve(LINE, policy, ExactHeuristic(), TURNS, iterations=5)
    assert result.plan is not None and len(result.plan) == 6
    first = policy.asked.index(True)
    assert first > 0 and all(policy.asked[first:])
    assert set(policy.limits[:first]) == {None} and set(policy.limits[first:]) == {TURNS.max_tokens}


def test_where_free_rollouts_lead_to_a_plan_none_is_restricted() -> None:
    policy = Lost(lost=True)
    result = solve(LINE, policy, ExactHeuristic(), TURNS, iterations=5)
    assert result.plan is not None and not any(policy.asked)


def test_a_chain_that_came_halfway_is_followed_by_a_free_one() -> None:
    for end, restricts in ((4, False), (2, True)):
        policy = Watched({place: [steps("up", "up")] for place in range(end)})
        distance = TableHeuristic({place: abs(6 - place) for place in range(20)})
        settings = OclgenSettings(initial_rollouts="chained", n_init=2, restrict_lost=True)
        assert solve(LINE, policy, distance, settings, iterations=0).plan is None
        assert any(policy.asked) is restricts


def test_after_a_restricted_chain_without_a_plan_decoding_is_free_again() -> None:
    policy = Watched({})
    settings = OclgenSettings(initial_rollouts="chained", n_init=3, restrict_lost=True)
    solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
    assert [kind for kind, _ in groupby(policy.asked)] == [False, True, False]


@pytest.mark.parametrize("initial", ["full", "chained"])
def test_without_the_setting_or_without_chains_nothing_is_restricted(initial: Any) -> None:
    policy = Lost(lost=False)
    settings = OclgenSettings(initial_rollouts=initial, adaptive_expansion=False, restrict_lost=initial == "full")
    assert solve(LINE, policy, ExactHeuristic(), settings, iterations=30).plan is None
    assert not any(policy.asked)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("best-of-n", BestOfNSettings(samples=1, links=5, restrict_lost=True)),
        ("mcts", MctsSettings(samples=1, links=5, restrict_lost=True)),
    ],
)
def test_other_methods_restrict_decoding_after_an_iteration_of_mistakes(method: str, settings: Settings) -> None:
    policy = Lost(lost=False)
    result = solve(LINE, policy, ExactHeuristic(), settings, method=method, iterations=4)
    assert result.plan is not None
    assert policy.asked[0] is False and policy.asked[1] is True and all(policy.asked[1:])


def test_an_iteration_without_rollouts_changes_nothing() -> None:
    context = SearchContext(LINE, None, None, Budget(), random.Random(0), Counters())
    incumbent = SampledIncumbent(context, BestOfNSettings(restrict_lost=True))
    incumbent.change_decoding([])
    assert not context.decoding.restricted
    incumbent.change_decoding([Trajectory((0,), (), reaches_goal=False)])
    assert context.decoding.restricted


@pytest.mark.parametrize(("choices", "restricts"), [(MOST_CHOICES, True), (MOST_CHOICES + 1, False)])
def test_tasks_with_many_applicable_actions_are_decoded_freely(choices: int, restricts: bool) -> None:
    star = DigraphTask({0: tuple(range(1, choices + 1))}, frozenset({choices + 5}))
    policy = Lost(lost=False)
    solve(star, policy, ExactHeuristic(), TURNS, iterations=0)
    assert any(policy.asked) is restricts
