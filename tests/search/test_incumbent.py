"""What is tried on each new best plan: shortcuts and action elimination."""

from oclgen.search.settings import OclgenSettings
from tests.search.running import solve
from tests.toy import DigraphTask, RandomHeuristic, ScriptedPolicy, steps


def detour() -> tuple[DigraphTask, ScriptedPolicy]:
    """A plan 0-1-2-3-4 in which the unseen transition 0-3 saves two steps."""
    task = DigraphTask({0: (1, 3), 1: (2,), 2: (3,), 3: (4,)}, frozenset({4}))
    return task, ScriptedPolicy({0: [steps("go 1", "go 2", "go 3", "go 4")]})


def test_shortcuts_add_transitions_between_known_states_that_no_rollout_took() -> None:
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


def test_actions_that_a_plan_does_not_need_are_eliminated() -> None:
    for extension, lengths in ((False, [4]), (True, [4, 2])):
        task, policy = detour()
        settings = OclgenSettings(eliminate=extension, n_init=1, samples=1)
        result = solve(task, policy, RandomHeuristic(), settings, iterations=0)
        assert [length for _, length in result.trace] == lengths
