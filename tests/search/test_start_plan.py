"""OCLGen from a plan that is known: its states are in the graph before the first rollout."""

import random

from oclgen.interfaces import Plan
from oclgen.search.anytime import Budget, Counters, Ending
from oclgen.search.oclgen import oclgen_search
from oclgen.search.settings import OclgenSettings
from tests.toy import ExactHeuristic, NumberLine, WanderingPolicy, optimal_length

LINE = NumberLine(start=0, goal=12, size=20, stride=5)
STEP_BY_STEP: Plan = (("up",),) * 12


def plans(start: Plan, budget: Budget) -> tuple[list[Plan], Ending, WanderingPolicy]:
    policy, found = WanderingPolicy(), list[Plan]()
    search = oclgen_search(
        LINE, policy, ExactHeuristic(), OclgenSettings(), budget, random.Random(0), Counters(), start=start
    )
    while True:
        try:
            found.append(next(search))
        except StopIteration as stop:
            return found, stop.value, policy


def test_the_start_comes_first_and_the_search_shortens_it_to_the_optimum() -> None:
    found, ending, _ = plans(STEP_BY_STEP, Budget(seconds=60))
    assert found[0] == STEP_BY_STEP
    assert len(found[-1]) == optimal_length(LINE)
    assert ending is Ending.EXHAUSTED


def test_the_start_is_reported_before_any_rollout() -> None:
    found, ending, policy = plans(STEP_BY_STEP, Budget(seconds=0))
    assert found == [STEP_BY_STEP]
    assert ending is Ending.TIME
    assert not policy.calls
