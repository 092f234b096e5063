"""Chained batches of rollouts: where they continue, restart and give up."""

from collections.abc import Sequence

from oclgen.interfaces import State, Step, Task
from oclgen.search.extensions.chaining import (
    BATCHES_PER_STATE,
    PATIENCE,
    PATIENCE_WITH_PLAN,
    RESTART_INTERVAL,
    RETRY_INTERVAL,
)
from oclgen.search.settings import OclgenSettings
from tests.search.running import solve
from tests.toy import DigraphTask, ExactHeuristic, NumberLine, ScriptedPolicy, steps

LINE = NumberLine(start=0, goal=12, size=20, stride=5)  # optimum: leap, leap, up, up


def short_sighted(line: NumberLine) -> ScriptedPolicy:
    """Two good steps from each number, then an action that does not exist."""
    return ScriptedPolicy({place: [steps("up", "up", "nonsense")] for place in range(line.size)})


def test_chained_initial_rollouts_continue_from_the_most_promising_last_state() -> None:
    for chained, length in (("full", None), ("chained", 12)):
        policy = short_sighted(LINE)
        settings = OclgenSettings(initial_rollouts=chained, n_init=1)  # type: ignore[arg-type]
        result = solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
        assert (None if result.plan is None else len(result.plan)) == length
    assert [call["states"] for call in policy.calls] == [[0], [2], [4], [6], [8], [0], [10]]


def test_chaining_without_progress_restarts_at_the_initial_state_at_intervals() -> None:
    policy = ScriptedPolicy({place: [steps("up", "up")] for place in range(100)})
    wrong_direction = NumberLine(start=20, goal=0, size=100)
    settings = OclgenSettings(initial_rollouts="chained", n_init=1, samples=1)
    solve(wrong_direction, policy, ExactHeuristic(), settings, iterations=0)
    first = [call["states"] for call in policy.calls[: 2 * RESTART_INTERVAL + 1]]
    assert [i for i, states in enumerate(first) if states == [20]] == [0, RESTART_INTERVAL, 2 * RESTART_INTERVAL]


def test_chaining_without_progress_gives_up() -> None:
    policy = ScriptedPolicy({place: [steps("up", "up")] for place in range(100)})
    wrong_direction = NumberLine(start=20, goal=0, size=100)
    settings = OclgenSettings(initial_rollouts="chained", n_init=1)
    result = solve(wrong_direction, policy, ExactHeuristic(), settings, iterations=0)
    assert result.plan is None
    assert len(policy.calls) == 1 + PATIENCE + 20 // 4


def test_with_a_plan_chaining_without_progress_gives_up_sooner() -> None:
    down = steps("down", "down")
    script = {place: [down] for place in range(40)} | {40: [steps(*["up"] * 20), *[down] * 9]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=2, samples=1)
    solve(NumberLine(start=40, goal=60, size=100), policy, ExactHeuristic(), settings, iterations=0)
    assert len(policy.calls) == 1 + 1 + PATIENCE_WITH_PLAN


def test_after_so_many_empty_batches_chaining_continues_from_the_next_best_last_state() -> None:
    script = {0: [steps("leap"), steps("up", "up", "up")], 3: [steps("up", "leap")], 9: [steps("up", "up", "up")]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=1, samples=2)
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
    started = [call["states"] for call in policy.calls if call["states"] != [0]]
    assert started == [[5]] * BATCHES_PER_STATE + [[3], [9]]
    assert result.plan is not None and len(result.plan) == 8


def test_chaining_continues_from_the_newest_last_state_every_other_time() -> None:
    class Backwards:
        """Prefers states near the initial one."""

        def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
            return [float(state) for state in states if isinstance(state, int)]

    script = {0: [steps("up"), steps("leap")], 1: [steps("up", "up", "leap")], 8: [steps("up", "up", "up", "up")]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=1, samples=2)
    result = solve(LINE, policy, Backwards(), settings, iterations=0)
    assert [call["states"] for call in policy.calls] == [[0], [1], [8]]
    assert result.plan is not None and len(result.plan) == 8


def test_with_pruning_later_rollouts_are_limited_to_what_can_shorten_the_plan() -> None:
    script = {place: [steps("up", "up", "up", "up")] for place in range(20)}
    for prune, limits in ((True, [None] * 3 + [11, 7, 3]), (False, [None] * 6)):
        policy = ScriptedPolicy(script)
        settings = OclgenSettings(initial_rollouts="chained", n_init=2, samples=1, prune=prune)
        solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
        assert [call["max_actions"] for call in policy.calls] == limits


def test_with_pruning_chaining_skips_last_states_too_deep_for_a_shorter_plan() -> None:
    script = {0: [steps(*["up"] * 9), steps("leap", "leap")], 10: [steps("up", "up")], 3: [steps("up")]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=3, samples=2, prune=True)
    result = solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
    assert result.plan is not None and len(result.plan) == 4
    assert [call["states"] for call in policy.calls] == [[0], [10], [0], [10], [0], [10]]


def test_with_pruning_chaining_skips_a_last_state_that_became_too_deep_after_a_shorter_plan() -> None:
    def walk(*targets: int) -> tuple[Step, ...]:
        return tuple(Step(("go", str(target)), 1.0) for target in targets)

    path, detour = range(1, 11), range(20, 26)
    edges = {place: (place + 1,) for place in (*path, *detour)} | {0: (1, 20, 30), 30: (9,)}
    script = {0: [walk(*path), walk(*path), walk(*detour), walk(30)], 30: [walk(9)]}
    policy = ScriptedPolicy(script)
    settings = OclgenSettings(initial_rollouts="chained", n_init=2, samples=2, prune=True)
    result = solve(DigraphTask(edges, frozenset({10})), policy, ExactHeuristic(), settings, iterations=0)
    assert [length for _, length in result.trace] == [10, 3]
    assert [call["states"] for call in policy.calls] == [[0], [0], [30]]


def test_chaining_is_retried_at_intervals_while_there_is_no_plan() -> None:
    wrong_direction = NumberLine(start=200, goal=0, size=400)
    right_direction = NumberLine(start=20, goal=24, size=400)
    for line, chained, times in (
        (wrong_direction, "chained", 3),
        (wrong_direction, "full", 1),
        (right_direction, "chained", 1),
    ):
        policy = ScriptedPolicy({place: [steps("up")] for place in range(400)})
        settings = OclgenSettings(initial_rollouts=chained, n_init=1, samples=1)  # type: ignore[arg-type]
        solve(line, policy, ExactHeuristic(), settings, iterations=2 * RETRY_INTERVAL + 1)
        chains = ["chain" if call["max_tokens"] is None else "iteration" for call in policy.calls]
        begun = [now for before, now in zip(["iteration", *chains], chains, strict=False) if now != before]
        assert begun.count("chain") == times


def test_chaining_gives_up_in_a_cycle() -> None:
    policy = ScriptedPolicy({0: [steps("up")], 1: [steps("down")]})
    settings = OclgenSettings(initial_rollouts="chained", n_init=1)
    solve(LINE, policy, ExactHeuristic(), settings, iterations=0)
    assert [call["states"] for call in policy.calls if call["states"] != [0]] == [[1]] * BATCHES_PER_STATE
