from types import SimpleNamespace

import pytest

from oclgen.errors import ExitCode
from oclgen.interfaces import Plan
from oclgen.search.anytime import Budget, Counters, Ending, Search, exit_code, run

SHORT, LONG = (("a",),), (("a",), ("b",))


def test_a_run_records_each_improvement_and_the_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(clock: Clock) -> Search:
        clock.now = 101.0
        yield LONG
        clock.now = 102.5
        yield SHORT
        clock.now = 103.0
        return Ending.COMPLETED

    clock, counters = Clock(monkeypatch), Counters(iterations=3)
    seen: list[Plan] = []
    result = run(search(clock), Budget(), counters, seen.append)
    assert (result.plan, result.ending) == (SHORT, Ending.COMPLETED)
    assert (result.trace, result.seconds) == (((1.0, 2), (2.5, 1)), 3.0)
    assert result.counters is counters
    assert seen == [LONG, SHORT]


def test_a_plan_that_is_short_enough_ends_the_search_and_closes_it() -> None:
    closed = []

    def search() -> Search:
        try:
            yield (("a",),) * 3
            yield (("a",),) * 2
            raise AssertionError
        finally:
            closed.append(True)

    result = run(search(), Budget(), Counters(), enough=2)
    assert (result.ending, result.plan) == (Ending.SHORT_ENOUGH, (("a",),) * 2)
    assert [length for _, length in result.trace] == [3, 2] and closed


def test_a_plan_that_does_not_improve_is_a_defect() -> None:
    def search() -> Search:
        yield SHORT
        yield SHORT
        return Ending.COMPLETED

    with pytest.raises(AssertionError, match=r"^a search yielded a plan that is not shorter than the one before$"):
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


class Clock:
    """Stands in for the clock of `oclgen.search.anytime`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("oclgen.search.anytime.time.monotonic", lambda: self.now)


def test_seconds_count_from_the_given_start_and_the_limit_itself_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    default, earlier = Budget(seconds=5.0), Budget(seconds=5.0, started=98.0)
    clock.now = 102.75
    assert (default.elapsed(), earlier.elapsed()) == (2.75, 4.75)
    assert not default.exhausted() and not earlier.exhausted()
    clock.now = 103.0
    assert not default.exhausted() and earlier.exhausted()


def test_the_start_of_the_search_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    budget = Budget()
    assert budget.search_started is None
    clock.now = 101.5
    budget.start_search()
    assert budget.search_started == 1.5


def test_memory_is_measured_at_intervals_and_counts_from_the_limit_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oclgen.search.anytime.MEMORY_CHECK_SECONDS", 0.5)
    clock = Clock(monkeypatch)
    budget = Budget(memory_bytes=1000)
    measured = []

    class Process:
        used = 999

        def memory_info(self) -> SimpleNamespace:
            measured.append(clock.now)
            return SimpleNamespace(rss=self.used)

    monkeypatch.setattr(budget, "_process", process := Process())
    for now in (100.0, 100.25, 100.5, 100.75, 101.0):
        clock.now = now
        assert not budget.exhausted()
    assert measured == [100.0, 100.5, 101.0]
    process.used = 1000
    clock.now = 102.0
    assert budget.exhausted()
    assert budget.ending is Ending.MEMORY


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
    assert exit_code(None, Ending.MEMORY) is ExitCode.OUT_OF_MEMORY
    assert exit_code(None, Ending.ITERATIONS) is ExitCode.UNSOLVED_INCOMPLETE


def test_a_limit_reached_before_the_search_has_exit_codes_of_its_own() -> None:
    codes = {ending: exit_code(None, ending, search_started=False) for ending in Ending}
    assert codes.pop(Ending.TIME) is ExitCode.OUT_OF_TIME_BEFORE_SEARCH
    assert codes.pop(Ending.MEMORY) is ExitCode.OUT_OF_MEMORY_BEFORE_SEARCH
    assert set(codes.values()) == {ExitCode.UNSOLVED_INCOMPLETE}


def test_at_the_memory_limit_a_budget_asks_for_room_until_there_is_enough_or_nothing_left() -> None:
    budget = Budget(memory_bytes=1)
    limits = [2, 1 << 50]

    def make_room() -> bool:
        if not limits:
            return False
        budget.memory_bytes = limits.pop(0)
        return True

    budget.make_room = make_room
    assert not budget.exhausted()
    assert limits == []
    budget.memory_bytes, budget._next_memory_check = 1, 0.0
    assert budget.exhausted()
    assert budget.ending is Ending.MEMORY


def test_an_ending_from_outside_does_not_replace_a_limit_that_was_reached() -> None:
    budget, late = Budget(), Budget(0)
    budget.end(Ending.EXHAUSTED)
    assert budget.exhausted() and budget.ending is Ending.EXHAUSTED
    assert late.exhausted()
    late.end(Ending.EXHAUSTED)
    assert late.ending is Ending.TIME


def test_counters_of_several_searches_add_up() -> None:
    counters = Counters(iterations=2, tokens=1)
    counters.add(Counters(iterations=3, rollouts=4).as_dict())
    assert counters == Counters(iterations=5, rollouts=4, tokens=1)
