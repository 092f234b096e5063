"""Plan files and standard output, as Fast Downward writes them.

lab, Unified Planning and editors parse these lines; their wording is part of the interface.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import psutil

from oclgen.errors import InputError
from oclgen.interfaces import Plan
from oclgen.pddl.plan_file import write_plan
from oclgen.search.anytime import Budget, Counters, Ending

LIVE_SECONDS = 0.2
LARGEST_PLAN = 400_000
"""Bytes on standard output for a plan in one notation. Editors stop a planner that prints more than 1 MiB."""
MOST_IMPROVEMENTS = 1000
"""Improvements that are reported on standard output."""


@dataclass(slots=True)
class PlanFiles:
    """`sas_plan.1`, `sas_plan.2`, ... each better than the one before, and the best under the plain name."""

    path: Path
    numbered: bool = True
    count: int = 0

    def clear(self) -> None:
        """Remove what an earlier run left, so that no stale plan is taken for ours. A device or a pipe stays."""
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise InputError(f"{self.path}: no plan can be written there")
        if self.path.exists() and not self.path.is_file():
            self.numbered = False
            return
        try:
            self.path.unlink(missing_ok=True)
            for old in list(self.path.parent.iterdir()):
                stem, _, number = old.name.rpartition(".")
                if stem == self.path.name and number.isdecimal():
                    old.unlink()
        except OSError as error:
            raise InputError(f"{self.path}: cannot remove an earlier plan: {error.strerror}") from None

    def write(self, plan: Plan) -> None:
        self.count += 1
        if self.numbered:
            write_plan(self.path.with_name(f"{self.path.name}.{self.count}"), plan)
        write_plan(self.path, plan)


class SearchLine:
    """One line about a running search, redrawn on a terminal by a thread of its own; silent elsewhere."""

    def __init__(self, budget: Budget, counters: Counters, stream: TextIO | None = None) -> None:
        self.best: int | None = None
        self._budget = budget
        self._counters = counters
        self._stream = sys.stdout if stream is None else stream
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._shown = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Draw the line from now on, until the end of the context or `stop`."""
        if self._stream.isatty():
            threading.Thread(target=self._redraw, daemon=True).start()
        try:
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        """Remove the line; nothing is drawn after this."""
        self._stopped.set()
        with self.hidden():
            pass

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the line and draw nothing while other output is printed."""
        with self._lock:
            if self._shown:
                self._stream.write("\r\x1b[K")
                self._shown = False
            yield

    def _redraw(self) -> None:
        while not self._stopped.wait(LIVE_SECONDS):
            with self._lock:
                if not self._stopped.is_set():
                    self._stream.write(f"\r\x1b[K{self._text()}")
                    self._stream.flush()
                    self._shown = True

    def _text(self) -> str:
        seconds, counters = self._budget.elapsed(), self._counters
        rate = counters.generated / seconds if seconds > 0 else 0.0
        length = "-" if self.best is None else str(self.best)
        return (
            f"{seconds:6.1f}s  best {length}  nodes {counters.generated}"
            f"  iterations {counters.iterations}  {rate:.0f} nodes/s"
        )


def peak_memory_kb() -> int:
    """The largest resident size this process has had, in KB."""
    try:
        import resource
    except ImportError:  # Windows has no getrusage
        return int(psutil.Process().memory_info().rss // 1024)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak // 1024 if sys.platform == "darwin" else peak)


def limits_lines(time_limit: float | None, memory_limit: int | None) -> list[str]:
    seconds = "None" if time_limit is None else f"{time_limit:g}s"
    memory = "None" if memory_limit is None else f"{memory_limit >> 20} MB"
    return [f"planner time limit: {seconds}", f"planner memory limit: {memory}"]


def improvement_lines(seconds: float, plan: Plan) -> str:
    """A better plan was found: two lines, as Fast Downward prints them."""
    stamp = f"[t={seconds:.3f}s, {peak_memory_kb()} KB]"
    return f"{stamp} Plan length: {len(plan)} step(s).\n{stamp} Plan cost: {len(plan)}"


def plan_lines(plan: Plan) -> list[str]:
    """The plan as Fast Downward prints it."""
    actions = bounded([f"{' '.join(action)} (1)" for action in plan])
    return ["Solution found!", *actions, f"Plan length: {len(plan)} step(s).", f"Plan cost: {len(plan)}"]


def editor_lines(plan: Plan) -> list[str]:
    """The plan once more, as VS Code's PDDL extension reads it."""
    return bounded([f"{number}: ({' '.join(action)})" for number, action in enumerate(plan)])


def bounded(lines: list[str]) -> list[str]:
    """No lines if they are too long for a standard output that stays below 1 MiB; the plan files hold the plan."""
    return lines if sum(len(line.encode()) + 1 for line in lines) <= LARGEST_PLAN else []


def statistics_lines(counters: Counters, search_seconds: float, total_seconds: float) -> list[str]:
    return [
        f"Expanded {counters.expanded} state(s).",
        f"Reopened {counters.reopened} state(s).",
        f"Evaluated {counters.evaluated} state(s).",
        f"Evaluations: {counters.evaluated}",
        f"Generated {counters.generated} state(s).",
        f"Iterations: {counters.iterations}",
        f"Rollouts: {counters.rollouts}",
        f"Tokens: {counters.tokens}",
        f"Search time: {search_seconds:.3f}s",
        f"Total time: {total_seconds:.3f}s",
        f"Peak memory: {peak_memory_kb()} KB",
    ]


def ending_line(plan: Plan | None, ending: Ending) -> str:
    """Why the search stopped, in one sentence."""
    if ending is Ending.EXHAUSTED:
        return "Task is unsolvable." if plan is None else "Search space exhausted: the plan is optimal."
    return {
        Ending.TIME: "Time limit has been reached.",
        Ending.MEMORY: "Memory limit has been reached.",
        Ending.SHORT_ENOUGH: "The plan is as short as asked for.",
        Ending.ITERATIONS: "Iteration limit has been reached.",
        Ending.INTERRUPTED: "Search interrupted.",
        Ending.COMPLETED: "Search completed.",
        Ending.INCOMPLETE: "Search stopped without finding a solution." if plan is None else "Nothing left to try.",
    }[ending]
