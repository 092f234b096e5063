"""Action elimination."""

from hypothesis import given
from hypothesis import strategies as st

from oclgen.interfaces import Action
from oclgen.search.extensions.elimination import eliminate_actions
from tests.toy import NumberLine, replays_to_goal

LINE = NumberLine()
UP, DOWN, LEAP = ("up",), ("down",), ("leap",)


def valid_plan(walk: list[Action]) -> tuple[Action, ...]:
    """The applicable actions of a walk, then steps to the goal."""
    state, taken = 0, list[Action]()
    for action in walk:
        successor = LINE.apply(state, action)
        if isinstance(successor, int):
            taken.append(action)
            state = successor
    taken += [UP if state < 12 else DOWN] * abs(12 - state)
    return tuple(taken)


@given(st.lists(st.sampled_from([UP, DOWN, LEAP]), max_size=30))
def test_the_rest_is_a_plan_with_the_same_actions_in_the_same_order(walk: list[Action]) -> None:
    plan = valid_plan(walk)
    left = eliminate_actions(LINE, plan, lambda: False)
    assert replays_to_goal(LINE, left)
    remaining = iter(plan)
    assert all(action in remaining for action in left)


def test_without_time_the_plan_does_not_change() -> None:
    plan = (UP, DOWN, LEAP, LEAP, UP, UP)
    assert eliminate_actions(LINE, plan, lambda: True) == plan
    assert eliminate_actions(LINE, plan, lambda: False) == (LEAP, LEAP, UP, UP)
