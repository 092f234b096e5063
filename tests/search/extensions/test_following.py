"""Rollouts that are followed: once there is a plan, from where they end, while a shorter plan is in sight."""

from dataclasses import replace

import pytest

from oclgen.search.settings import OclgenSettings
from tests.search.running import solve
from tests.toy import ExactHeuristic, NumberLine, ScriptedPolicy, TableHeuristic, steps

LINE = NumberLine(start=0, goal=12, size=20, stride=5)  # optimum: leap, leap, up, up
SCRIPT = {0: [steps("leap")], 5: [steps("leap")], 10: [steps("up", "up")]}
SLOW = (("up",),) * 12
SETTINGS = OclgenSettings(depth_selection="scan", n_init=0, samples=1, adaptive_expansion=False, follow=True)


@pytest.mark.parametrize(("follows", "length"), [(False, 8), (True, 4)])
def test_one_iteration_follows_a_promising_rollout_to_the_goal(follows: bool, length: int) -> None:
    settings = replace(SETTINGS, follow=follows)
    result = solve(LINE, ScriptedPolicy(SCRIPT), ExactHeuristic(), settings, iterations=1, start=SLOW)
    assert result.plan is not None and len(result.plan) == length


def test_a_rollout_that_promises_no_shorter_plan_is_not_followed() -> None:
    policy = ScriptedPolicy(SCRIPT)
    solve(LINE, policy, TableHeuristic(dict.fromkeys(range(20), 11.0)), SETTINGS, iterations=1, start=SLOW)
    assert [call["states"] for call in policy.calls] == [[0]]


def test_without_a_plan_nothing_is_followed() -> None:
    policy = ScriptedPolicy(SCRIPT)
    solve(LINE, policy, ExactHeuristic(), SETTINGS, iterations=1)
    assert [call["states"] for call in policy.calls] == [[0]]


def test_a_state_is_followed_once() -> None:
    policy = ScriptedPolicy({0: [steps("leap")], 5: [steps("down", "up")]})
    solve(LINE, policy, ExactHeuristic(), SETTINGS, iterations=1, start=SLOW)
    assert [call["states"] for call in policy.calls] == [[0], [5]]
