import pytest

from oclgen.errors import ExitCode
from oclgen.interfaces import Plan
from oclgen.search.anytime import Budget, Counters, Ending, Search, exit_code, run

SHORT, LONG = (("a",),), (("a",), ("b",))


def test_a_run_records_each_improvement_and_the_ending() -> None:
    def search() -> Search:
        yield LONG
        yield SHORT
        return Ending.COMPLETED

    seen: list[Plan] = []
    result = run(search(), Budget(), Counters(), seen.append)
    assert (result.plan, result.ending) == (SHORT, Ending.COMPLETED)
    assert [length for _, length in result.trace] == [2, 1]
    assert seen == [LONG, SHORT]


def test_a_plan_that_does_not_improve_is_a_defect() -> None:
    def search() -> Search:
        yield SHORT
        yield SHORT
        return Ending.COMPLETED

    with pytest.raises(AssertionError):
        run(search(), Budget(), Counters())


def test_the_first_limit_reached_names_the_ending() -> None:
    for budget, iterations, ending in [
        (Budget(), 10**9, None),
        (Budget(iterations=3), 2, None),
        (Budget(iterations=3), 3, Ending.ITERATIONS),
        (Budget(seconds=0.0), 0, Ending.TIME),
        (Budget(memory_bytes=1), 0, Ending.MEMORY),
        (Budget(seconds=5.0, started=-1e9), 0, Ending.TIME),
    ]:
        assert budget.exhausted(iterations) == (ending is not None)
        assert budget.ending is ending


def test_the_iteration_limit_is_not_checked_in_the_middle_of_an_iteration() -> None:
    budget = Budget(iterations=0)
    assert not budget.exhausted()
    assert budget.exhausted(0)


def test_an_interrupted_budget_stays_interrupted() -> None:
    budget = Budget(seconds=0.0)
    budget.interrupt()
    assert budget.exhausted()
    assert budget.ending is Ending.INTERRUPTED


def test_exit_codes_are_those_of_the_driver() -> None:
    assert exit_code(SHORT, Ending.TIME) is ExitCode.SUCCESS
    assert exit_code(SHORT, Ending.MEMORY) is ExitCode.PLAN_THEN_OUT_OF_MEMORY
    assert exit_code(None, Ending.EXHAUSTED) is ExitCode.UNSOLVABLE
    assert exit_code(None, Ending.TIME) is ExitCode.OUT_OF_TIME
    assert exit_code(None, Ending.ITERATIONS) is ExitCode.UNSOLVED_INCOMPLETE
