from typing import Any

import pytest

from oclgen.errors import InputError
from oclgen.interfaces import Rollout, Step
from oclgen.search.baselines.best_of_n import BestOfNSettings
from tests.search.running import solve
from tests.toy import NumberLine, ScriptedPolicy, replays_to_goal, steps

LEAP, UP = Step(("leap",), 1.0), Step(("up",), 1.0)
SHORT_SIGHTED: dict[int, list[Rollout]] = {0: [(LEAP,), (UP,)], 5: [(LEAP,)], 10: [(UP, UP)]}
"""From 0 to 12 no single rollout reaches the goal, but three chained ones do. From 1 there is no rollout."""


def test_rollouts_that_are_shorter_than_plans_are_chained() -> None:
    task = NumberLine()
    policy = ScriptedPolicy(SHORT_SIGHTED)
    result = solve(task, policy, None, BestOfNSettings(samples=2, links=3), method="best-of-n", iterations=1)
    assert result.plan is not None and len(result.plan) == 4 and replays_to_goal(task, result.plan)
    assert [call["states"] for call in policy.calls] == [[0], [5, 1], [10]]
    assert result.counters.rollouts == 5


@pytest.mark.parametrize("links", [1, 2])
def test_no_more_rollouts_are_chained_than_the_setting_says(links: int) -> None:
    policy = ScriptedPolicy(SHORT_SIGHTED)
    result = solve(NumberLine(), policy, None, BestOfNSettings(2, links=links), method="best-of-n", iterations=1)
    assert result.plan is None and len(policy.calls) == links


@pytest.mark.parametrize("setting", ["samples", "links"])
def test_settings_below_one_are_refused(setting: str) -> None:
    wrong: dict[str, Any] = {setting: 0}
    with pytest.raises(InputError) as refused:
        BestOfNSettings(**wrong)
    assert str(refused.value) == f"{setting} must be at least 1, not 0"


def test_the_shortest_plan_of_a_batch_is_kept() -> None:
    policy = ScriptedPolicy({1: [steps("down", "up", "leap"), steps("leap"), steps("up", "down", "leap")]})
    result = solve(
        NumberLine(start=1, goal=6), policy, None, BestOfNSettings(samples=3), method="best-of-n", iterations=1
    )
    assert result.plan == (("leap",),)
