"""What every search shares: its budget, its counters, its trace of improving plans, and how it ended.

A search is a generator: it yields each plan that is strictly shorter than the one before and returns an
`Ending`. `run` drives it to the end and makes the record; `oclgen.planner` drives it plan by plan.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from enum import Enum

import psutil

from oclgen.errors import ExitCode
from oclgen.interfaces import Plan

MEMORY_CHECK_SECONDS = 0.05


class Ending(Enum):
    """Why a search stopped."""

    COMPLETED = "completed"  # the method does not go on by itself (LAMA-first)
    EXHAUSTED = "exhausted"  # the whole reachable space was searched: optimal plan, or proof of none
    INCOMPLETE = "incomplete"  # nothing left to try, nothing proved
    ITERATIONS = "iterations"
    TIME = "time"
    MEMORY = "memory"
    INTERRUPTED = "interrupted"


Search = Generator[Plan, None, Ending]


@dataclass(slots=True)
class Counters:
    """What a search did; the same fields for every method."""

    iterations: int = 0
    expanded: int = 0
    generated: int = 0
    reopened: int = 0
    evaluated: int = 0
    rollouts: int = 0
    tokens: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


class Budget:
    """Iterations, seconds and memory, asked between steps and inside long model calls.

    `started` is the `time.monotonic()` instant the seconds count from, so that a caller can charge
    start-up and parsing to the same limit. `heartbeat` is called at each question (a live display hangs on it).
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
        self.heartbeat: Callable[[], None] | None = None
        self.search_started: float | None = None
        self._process = psutil.Process()
        self._next_memory_check = 0.0

    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def start_search(self) -> None:
        """Everything before this call was reading and loading."""
        self.search_started = self.elapsed()

    def interrupt(self) -> None:
        """End the search at its next question (signal handlers call this)."""
        self.ending = Ending.INTERRUPTED

    def exhausted(self, iterations: int | None = None) -> bool:
        """True once any limit is reached; `ending` then says which.

        Without `iterations` the question is about time and memory only: it is asked in the middle of an iteration.
        """
        if self.heartbeat is not None:
            self.heartbeat()
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
        return bool(self._process.memory_info().rss >= self.memory_bytes)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The record of one run: best plan, why it ended, and every improvement with its second."""

    plan: Plan | None
    ending: Ending
    trace: tuple[tuple[float, int], ...]
    counters: Counters
    seconds: float


@dataclass(slots=True)
class Recorder:
    """Collects improving plans into a trace; refuses one that does not improve."""

    budget: Budget
    plan: Plan | None = None
    trace: list[tuple[float, int]] = field(default_factory=list)

    def offer(self, plan: Plan) -> None:
        if self.plan is not None and len(plan) >= len(self.plan):
            raise AssertionError("a search yielded a plan that is not shorter than its last one")
        self.plan = plan
        self.trace.append((self.budget.elapsed(), len(plan)))


def run(
    search: Search, budget: Budget, counters: Counters, on_plan: Callable[[Plan], None] | None = None
) -> SearchResult:
    """Drive a search to its end."""
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
    return SearchResult(recorder.plan, ending, tuple(recorder.trace), counters, budget.elapsed())


def exit_code(plan: Plan | None, ending: Ending, search_started: bool = True) -> ExitCode:
    """The driver code for a finished search; a plan found when time ends is plain success."""
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
