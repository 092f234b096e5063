"""Searches that share plans: what is news, what is sent, and how a foreign plan enters a search."""

from oclgen.interfaces import Plan
from oclgen.search.anytime import Budget
from oclgen.search.extensions.exchange import Exchange
from oclgen.search.graph import SearchGraph
from oclgen.search.settings import OclgenSettings
from tests.search.running import solve
from tests.toy import ExactHeuristic, NumberLine, ScriptedPolicy, WanderingPolicy, steps

LINE = NumberLine(start=0, goal=12, size=20, stride=5)
WALK: Plan = (("up",),) * 12
LEAP: Plan = (("leap",), *WALK[:7])


def exchange_and_sent() -> tuple[Exchange, list[Plan]]:
    sent: list[Plan] = []
    return Exchange(sent.append), sent


def test_only_plans_shorter_than_all_before_are_sent() -> None:
    exchange, sent = exchange_and_sent()
    for plan in (WALK, WALK, LEAP, WALK):
        exchange.post(plan)
    assert sent == [WALK, LEAP]


def test_a_received_plan_is_taken_once_and_not_sent_back() -> None:
    exchange, sent = exchange_and_sent()
    assert exchange.receive(LEAP)
    assert not exchange.receive(WALK)
    assert exchange.take() == LEAP
    assert exchange.take() is None
    exchange.post(LEAP)
    assert sent == []


def test_a_foreign_plan_becomes_the_incumbent_and_its_states_open_nodes() -> None:
    exchange, sent = exchange_and_sent()
    exchange.receive(LEAP)
    graphs: list[SearchGraph] = []
    policy = WanderingPolicy()
    settings = OclgenSettings()
    result = solve(
        LINE, policy, ExactHeuristic(), settings, budget=Budget(0), exchange=exchange, observer=graphs.append
    )
    assert result.plan == LEAP
    assert sent == []
    (graph,) = graphs
    assert [graph.is_open(graph.node(state)) for state in range(5, 12)] == [True] * 7


def test_what_a_search_makes_of_a_foreign_plan_is_sent() -> None:
    exchange, sent = exchange_and_sent()
    exchange.receive(WALK)
    settings = OclgenSettings(shortcut=True, n_init=0)
    result = solve(LINE, WanderingPolicy(), ExactHeuristic(), settings, iterations=0, exchange=exchange)
    assert result.plan is not None
    assert len(result.plan) < len(WALK)
    assert sent[-1] == result.plan


def test_a_plan_that_comes_in_at_the_very_end_is_reported() -> None:
    exchange, _ = exchange_and_sent()

    class LatePlan(Budget):
        def exhausted(self, iterations: int | None = None) -> bool:
            ended = super().exhausted(iterations)
            if ended:
                exchange.receive(LEAP)
            return ended

    policy = ScriptedPolicy({0: [steps("up")]})
    settings = OclgenSettings(n_init=1, samples=1)
    result = solve(LINE, policy, ExactHeuristic(), settings, budget=LatePlan(iterations=1), exchange=exchange)
    assert result.plan == LEAP


def test_a_foreign_plan_that_does_not_work_is_not_reported() -> None:
    exchange, _ = exchange_and_sent()
    exchange.receive((("fly",),))
    result = solve(LINE, WanderingPolicy(), ExactHeuristic(), OclgenSettings(), budget=Budget(0), exchange=exchange)
    assert result.plan is None
