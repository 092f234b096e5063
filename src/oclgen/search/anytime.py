"""What every search shares: a budget, counters, a trace of improving plans, and the reason it ended.

A search is a generator. It yields plans, each strictly shorter than the one before, and returns an `Ending`. `run`
runs it to the end and records the result.
"""

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum

import psutil

from oclgen.errors import ExitCode
from oclgen.interfaces import Plan

MEMORY_CHECK_SECONDS = 0.05


class Ending(Enum):
    """Why a search stopped."""

    COMPLETED = "completed"  # the method stops by itself and proves nothing (LAMA-first)
    EXHAUSTED = "exhausted"  # nothing shorter exists: the plan is optimal, or there is none
    INCOMPLETE = "incomplete"  # nothing left to try, nothing proved
    SHORT_ENOUGH = "short enough"  # a plan as short as asked for
    ITERATIONS = "iterations"
    TIME = "time"
    MEMORY = "memory"
    INTERRUPTED = "interrupted"


Search = Generator[Plan, None, Ending]


@dataclass(slots=True)
class Counters:
    """What a search did, in the same units for every method."""

    iterations: int = 0
    expanded: int = 0
    generated: int = 0
    reopened: int = 0
    evaluated: int = 0
    rollouts: int = 0
    tokens: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    def add(self, others: Mapping[str, int]) -> None:
        """Add what another search of the same run did."""
        for name, count in others.items():
            setattr(self, name, getattr(self, name) + count)


class Budget:
    """Limits on iterations, seconds and memory. Searches check it between steps and inside long model calls.

    Seconds count from `started`, a value of `time.monotonic()`, so that start-up and parsing can count too.
    """

    def __init__(
        self,
        seconds: float | None = None,
        iterations: int | None = None,
        memory_bytes: int | None = None,
        started: float | None = None,
    ) -> None:
        self.seconds = seconds
        self.iterations = iterations
        self.memory_bytes = memory_bytes
        self.started = time.monotonic() if started is None else started
        self.ending: Ending | None = None
        self.search_started: float | None = None
        self.make_room: Callable[[], bool] | None = None
        """Called at the memory limit; it may raise the limit by ending something else. False: there is nothing."""
        self._process = psutil.Process()
        self._next_memory_check = 0.0

    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def seconds_left(self) -> float | None:
        """Until the time limit; None where there is none."""
        return None if self.seconds is None else max(0.0, self.seconds - self.elapsed())

    def start_search(self) -> None:
        """Mark the end of parsing and loading."""
        self.search_started = self.elapsed()

    def interrupt(self) -> None:
        """End the search at its next check (called by signal handlers)."""
        self.ending = Ending.INTERRUPTED

    def end(self, ending: Ending) -> None:
        """End the search at its next check, unless it has reached a limit already (from any thread)."""
        if self.ending is None:
            self.ending = ending

    def exhausted(self, iterations: int | None = None) -> bool:
        """True once any limit is reached; `ending` then says which.

        Without `iterations` (in the middle of an iteration) only time and memory are checked.
        """
        if self.ending is None:
            now = self.elapsed()
            if self.seconds is not None and now >= self.seconds:
                self.ending = Ending.TIME
            elif self.iterations is not None and iterations is not None and iterations >= self.iterations:
                self.ending = Ending.ITERATIONS
            elif self._out_of_memory(now):
                self.ending = Ending.MEMORY
        return self.ending is not None

    def _out_of_memory(self, now: float) -> bool:
        if self.memory_bytes is None or now < self._next_memory_check:
            return False
        self._next_memory_check = now + MEMORY_CHECK_SECONDS
        used = self._process.memory_info().rss
        while used >= self.memory_bytes and self.make_room is not None and self.make_room():
            pass
        return bool(used >= self.memory_bytes)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The record of one run; `trace` has the time in seconds and the length of each improving plan."""

    plan: Plan | None
    ending: Ending
    trace: tuple[tuple[float, int], ...]
    counters: Counters
    seconds: float


@dataclass(slots=True)
class Recorder:
    """Records improving plans; a plan that does not improve is a defect."""

    budget: Budget
    plan: Plan | None = None
    trace: list[tuple[float, int]] = field(default_factory=list)

    def offer(self, plan: Plan) -> None:
        if self.plan is not None and len(plan) >= len(self.plan):
            raise AssertionError("a search yielded a plan that is not shorter than the one before")
        self.plan = plan
        self.trace.append((self.budget.elapsed(), len(plan)))


def run(
    search: Search,
    budget: Budget,
    counters: Counters,
    on_plan: Callable[[Plan], None] | None = None,
    enough: int = -1,
) -> SearchResult:
    """Run a search to its end, or to a plan of at most `enough` actions; `on_plan` gets each plan."""
    recorder = Recorder(budget)
    while True:
        try:
            plan = next(search)
        except StopIteration as stop:
            ending = stop.value
            break
        recorder.offer(plan)
        if on_plan is not None:
            on_plan(plan)
        if len(plan) <= enough:
            search.close()
            ending = Ending.SHORT_ENOUGH
            break
    return SearchResult(recorder.plan, ending, tuple(recorder.trace), counters, budget.elapsed())


def exit_code(plan: Plan | None, ending: Ending, search_started: bool = True) -> ExitCode:
    """The exit code of Fast Downward's driver for a finished search. A plan at the time limit is a success."""
    if plan is not None:
        return ExitCode.PLAN_THEN_OUT_OF_MEMORY if ending is Ending.MEMORY else ExitCode.SUCCESS
    if not search_started:
        return {
            Ending.TIME: ExitCode.OUT_OF_TIME_BEFORE_SEARCH,
            Ending.MEMORY: ExitCode.OUT_OF_MEMORY_BEFORE_SEARCH,
        }.get(ending, ExitCode.UNSOLVED_INCOMPLETE)
    return {
        Ending.EXHAUSTED: ExitCode.UNSOLVABLE,
        Ending.TIME: ExitCode.OUT_OF_TIME,
        Ending.MEMORY: ExitCode.OUT_OF_MEMORY,
    }.get(ending, ExitCode.UNSOLVED_INCOMPLETE)
