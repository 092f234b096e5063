from collections.abc import Sequence
from typing import Any

import pytest

from oclgen.errors import InputError
from oclgen.interfaces import Action, State, Step, Task
from oclgen.search.baselines.mcts import MctsSettings, TreeNode, allowed_children, normalised, select_child
from tests.search.running import solve
from tests.toy import (
    DigraphTask,
    NumberLine,
    RandomHeuristic,
    ScriptedPolicy,
    WanderingPolicy,
    replays_to_goal,
    steps,
)

FAN = DigraphTask({0: tuple(range(1, 31))}, frozenset({99}))


def child(name: str, visits: int, success: float, length: float, prior: float) -> TreeNode:
    return TreeNode(name, None, prior, visits, success * visits, length * visits)


def chosen(children: list[TreeNode], settings: MctsSettings) -> State:
    return select_child(TreeNode("parent", children=children), children, settings).state


def test_puct_weighs_success_length_and_prior_as_in_the_paper() -> None:
    # Scores without prior: a 0.1 * 1 + 0.9 * 0 = 0.1, b 0.1 * 0 + 0.9 * 1 = 0.9.
    children = [child("a", 3, 1.0, 20.0, 0.9), child("b", 1, 0.0, 10.0, 0.1)]
    assert chosen(children, MctsSettings(c_puct=0.0)) == "b"
    assert chosen(children, MctsSettings(c_puct=0.0, alpha=0.9)) == "a"
    # With priors a 0.1 + c * 0.9 * sqrt(4) / (1 + 3), b 0.9 + c * 0.1 * sqrt(4) / (1 + 1): equal at c = 2.2857.
    assert chosen(children, MctsSettings(c_puct=2.28)) == "b"
    assert chosen(children, MctsSettings(c_puct=2.29)) == "a"


def test_expected_lengths_are_normalised_among_siblings() -> None:
    assert [normalised(length, 10.0, 20.0) for length in (10.0, 15.0, 20.0)] == [1.0, 0.5, 0.0]
    assert normalised(7.0, 7.0, 7.0) == 0.5


def test_children_widen_with_the_visits() -> None:
    allowed = [allowed_children(TreeNode("s", visits=visits), MctsSettings()) for visits in (1, 2, 16, 17, 82)]
    assert allowed == [1, 2, 2, 3, 4]


def test_the_likeliest_children_are_added_first() -> None:
    policy = ScriptedPolicy({}, priors={0: {("go", str(target)): float(target) for target in range(1, 31)}})
    solve(FAN, policy, RandomHeuristic(), method="mcts", iterations=3)
    assert [call["states"] for call in policy.calls] == [[0], [30], [29]]


def test_rollouts_that_are_shorter_than_plans_are_chained() -> None:
    leap, up = Step(("leap",), 1.0), Step(("up",), 1.0)
    policy = ScriptedPolicy({0: [(leap,)], 5: [(leap,)], 10: [(up, up)]})
    task = NumberLine()
    alone = solve(task, policy, RandomHeuristic(), MctsSettings(samples=1), method="mcts", iterations=1)
    chained = solve(task, policy, RandomHeuristic(), MctsSettings(samples=1, links=3), method="mcts", iterations=1)
    assert alone.plan is None and chained.plan is not None and replays_to_goal(task, chained.plan)


def test_partial_rollouts_are_limited_and_full_ones_are_not() -> None:
    for method, limit in (("mcts", None), ("mcts-partial", 50)):
        policy = WanderingPolicy()
        solve(NumberLine(goal=60, size=90), policy, RandomHeuristic(), method=method, iterations=3)
        assert {call["max_tokens"] for call in policy.calls} == {limit}
        assert {call["samples"] for call in policy.calls} == {10}


def test_the_heuristic_values_failed_rollouts_only() -> None:
    line, heuristic = NumberLine(goal=3), RandomHeuristic()
    policy = ScriptedPolicy({0: [steps("up", "up", "up"), steps("up", "up")]})
    result = solve(line, policy, heuristic, method="mcts", iterations=1)
    assert heuristic.asked == [[2]]
    assert result.plan == (("up",),) * 3


def test_a_goal_inside_a_rollout_from_deep_in_the_tree_gives_a_whole_plan() -> None:
    line = NumberLine(goal=4, size=10)
    policy = ScriptedPolicy({1: [steps("up", "up", "up", "down")]})
    result = solve(line, policy, RandomHeuristic(), method="mcts", iterations=4)
    assert result.plan == (("up",),) * 4


WIDENING = "c_puct and widening_exponent must not be negative, widening_factor must be above 0"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": 0}, "samples must be at least 1, not 0"),
        ({"links": 0}, "links must be at least 1, not 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"alpha": 1.01}, "alpha must lie between 0 and 1, not 1.01"),
        ({"alpha": -0.01}, "alpha must lie between 0 and 1, not -0.01"),
        ({"c_puct": -0.1}, WIDENING),
        ({"widening_factor": 0.0}, WIDENING),
        ({"widening_exponent": -0.1}, WIDENING),
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        MctsSettings(**wrong)
    assert str(refused.value) == message


def test_settings_at_their_limits_are_accepted() -> None:
    for alpha in (0.0, 1.0):
        MctsSettings(max_tokens=1, samples=1, links=1, alpha=alpha, c_puct=0.0, widening_exponent=0.0)


def test_a_policy_with_too_few_priors_is_a_defect() -> None:
    class TooFew(ScriptedPolicy):
        def priors(self, task: Task, state: State, actions: Sequence[Action]) -> list[float]:
            return [1.0]

    with pytest.raises(ValueError, match="zip"):
        solve(FAN, TooFew({}), RandomHeuristic(), method="mcts", iterations=2)
