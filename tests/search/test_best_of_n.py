from oclgen.search.anytime import Ending
from oclgen.search.settings import BestOfNSettings
from tests.search.running import solve
from tests.toy import NumberLine, ScriptedPolicy, WanderingPolicy, steps

LINE = NumberLine(goal=6, size=10, stride=5)


def test_each_iteration_samples_one_batch_of_whole_plans_from_the_start() -> None:
    policy = WanderingPolicy()
    result = solve(LINE, policy, None, BestOfNSettings(samples=4), method="best-of-n", iterations=5)
    call = {"states": [0], "samples": 4, "max_tokens": None, "max_actions": None}
    assert policy.calls == [call] * 5
    assert result.counters.rollouts == 20
    assert result.ending is Ending.ITERATIONS


def test_the_shortest_plan_of_a_batch_counts() -> None:
    policy = ScriptedPolicy({0: [steps(*["up"] * 6), steps("leap", "up"), steps("leap", "nonsense")]})
    result = solve(LINE, policy, None, BestOfNSettings(samples=3), method="best-of-n", iterations=1)
    assert result.plan == (("leap",), ("up",))


def test_several_links_make_one_plan_of_rollouts_in_a_row() -> None:
    for links, found in ((1, False), (2, False), (3, True)):
        policy = ScriptedPolicy({place: [steps("up", "up")] for place in range(10)})
        settings = BestOfNSettings(samples=1, links=links)
        result = solve(LINE, policy, None, settings, method="best-of-n", iterations=1)
        assert (result.plan is not None) == found
    assert result.plan == (("up",),) * 6
