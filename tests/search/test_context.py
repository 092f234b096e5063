"""Replayed and chained rollouts, trajectories out of a state, batches for the heuristic."""

from oclgen.interfaces import Step
from oclgen.search.context import replay
from tests.toy import NumberLine, steps

LINE = NumberLine(start=0, goal=12, size=20, stride=5)  # optimum: leap, leap, up, up


def test_replay_stops_before_an_inapplicable_action_and_at_the_goal() -> None:
    assert replay(LINE, 0, steps("up", "down", "down", "up")).states == (0, 1, 0)
    assert replay(LINE, 10, steps("up", "up", "up")).states == (10, 11, 12)
    assert replay(LINE, 12, steps("up")).steps == ()
    assert replay(LINE, 0, (Step(("fly",), 1.0),)).states == (0,)
