"""One run of `oclgen solve`: limits that count from process start, signals, output, plan files, record, exit code."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from oclgen import output
from oclgen.errors import ExitCode, InputError, OclgenError
from oclgen.interfaces import Plan
from oclgen.pddl.plan_file import read_plan
from oclgen.planner import Prepared, is_anytime, prepare
from oclgen.search.anytime import Budget, Counters, Ending, SearchResult, exit_code, run
from oclgen.search_dump import SearchDump
from oclgen.support.files import write_json
from oclgen.support.provenance import versions

FINISH_SECONDS = 0.06
"""Kept back from the time limit for printing, writing and leaving."""
FINISH_BYTES = 64 << 20
GRACE_SECONDS = 0.15
"""A native call that overruns the limit by this much is cut off by the watchdog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRequest:
    """What the user asked for."""

    domain: Path
    problem: Path
    method: str | None
    """None: OCLGen where there is a model, else a classical planner."""
    overall_time_limit: float | None
    overall_memory_limit: int | None
    iterations: int | None
    random_seed: int
    model: Path | None
    profile: str
    settings: Mapping[str, Any]
    plan_file: Path
    json_file: Path | None
    plan: Path | None = None
    """A plan to start from."""
    threads: int = 1
    """Cores to use."""
    stop_at_length: int | None = None
    """A plan of at most this length ends the search."""
    search_tree_dump: str | None = None
    """Where VS Code's search debugger listens."""


def seconds_since_process_start() -> float:
    """From the kernel, in hundredths of a second; elsewhere from psutil."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return max(0.0, time.time() - psutil.Process().create_time())
    return max(0.0, uptime - ticks / os.sysconf("SC_CLK_TCK"))


class SolveRun:
    """The moving parts of one run, shared with signal handlers and the watchdog."""

    def __init__(self, request: SolveRequest) -> None:
        limit, memory = request.overall_time_limit, request.overall_memory_limit
        self.request = request
        self.budget = Budget(
            None if limit is None else max(0.0, limit - FINISH_SECONDS),
            request.iterations,
            None if memory is None else max(0, memory - FINISH_BYTES),
            started=time.monotonic() - seconds_since_process_start(),
        )
        self.counters = Counters()
        self.live = output.SearchLine(self.budget, self.counters)
        self.files = output.PlanFiles(request.plan_file)
        self.start = None if request.plan is None else read_plan(request.plan)
        self.dump = None if request.search_tree_dump is None else SearchDump(request.search_tree_dump)
        self.plan: Plan | None = None
        self.trace: list[tuple[float, int]] = []
        self.prepared: Prepared | None = None
        self.signal: int | None = None
        self.finished = threading.Lock()

    def search(self) -> SearchResult:
        request = self.request
        with self.live.running():
            prepared = prepare(
                request.domain,
                request.problem,
                method=request.method,
                model=request.model,
                profile=request.profile,
                settings=request.settings,
            )
            # The debugger shows one search, so there is one.
            prepared = self.prepared = prepared.on_cores(request.threads if self.dump is None else 1, self.budget)
            self.files.numbered &= is_anytime(prepared.method) or self.start is not None
            if prepared.note is not None:
                with self.live.hidden():
                    print(prepared.note, flush=True)
            if self.dump is not None and prepared.method != "oclgen":
                raise InputError(f"--search-tree-dump needs method oclgen, not {prepared.method}")
            observer = None if self.dump is None else self.dump.watch
            plans = prepared.plans(self.budget, self.counters, request.random_seed, observer, self.start)
            enough = -1 if request.stop_at_length is None else request.stop_at_length
            return run(plans, self.budget, self.counters, self.improve, enough)

    def improve(self, plan: Plan) -> None:
        seconds = self.budget.elapsed()
        if self.start is not None and self.plan is None:
            self.files.clear()  # not before the given plan has proved valid: it may be one of these files
        self.files.write(plan)
        self.plan = plan
        self.trace.append((seconds, len(plan)))
        self.live.best = len(plan)
        if len(self.trace) <= output.MOST_IMPROVEMENTS:
            with self.live.hidden():
                print(output.improvement_lines(seconds, plan), flush=True)

    def finish(self, ending: Ending) -> int:
        """Print the best plan and the statistics, write the record. Only who acquired `finished` may call it."""
        code = self.code(ending)
        total = self.budget.elapsed()
        search_seconds = total - self.budget.search_started if self.budget.search_started is not None else 0.0
        self.live.stop()
        lines = output.plan_lines(self.plan) if self.plan is not None else []
        lines += output.statistics_lines(self.counters, search_seconds, total)
        if self.dump is not None:
            lines += [self.dump.finish(self.budget.seconds_left())]
        lines += [output.ending_line(self.plan, ending), f"search exit code: {code}"]
        lines += output.editor_lines(self.plan) if self.plan is not None else []
        print("\n".join(lines), flush=True)
        if self.request.json_file is not None:
            write_record(self.request.json_file, self.record(ending, code, search_seconds, total))
        return code

    def code(self, ending: Ending) -> int:
        if self.plan is None and self.signal is not None:
            return 128 + self.signal
        return int(exit_code(self.plan, ending, self.budget.search_started is not None))

    def record(self, ending: Ending, code: int, search_seconds: float, total: float) -> dict[str, Any]:
        request, prepared = self.request, self.prepared
        return {
            "domain": prepared.info.domain.name if prepared else None,
            "problem": prepared.info.name if prepared else None,
            "method": prepared.method if prepared else request.method,
            "profile": request.profile,
            "model": str(prepared.model.folder) if prepared and prepared.model else None,
            "settings": prepared.settings if prepared else {},
            "seed": request.random_seed,
            "threads": prepared.threads if prepared else None,
            "searches": prepared.searches if prepared else None,
            "time_limit": request.overall_time_limit,
            "memory_limit": request.overall_memory_limit,
            "outcome": "unsolved" if self.plan is None else "solved",
            "ending": ending.value,
            "exit_code": code,
            "plan": None if self.plan is None else [" ".join(action) for action in self.plan],
            "length": None if self.plan is None else len(self.plan),
            "trace": self.trace,
            "counters": self.counters.as_dict(),
            "search_seconds": search_seconds,
            "seconds": total,
            "peak_memory_kb": output.peak_memory_kb(),
            "versions": versions("numpy", "pymimir"),
        }


def run_request(request: SolveRequest) -> int:
    """The whole life of one `solve` process."""
    run_state = SolveRun(request)
    if run_state.start is None:
        run_state.files.clear()
    for line in output.limits_lines(request.overall_time_limit, request.overall_memory_limit):
        print(line, flush=True)
    with catching_signals(run_state), watchdog(run_state):
        try:
            ending = run_state.search().ending
        except MemoryError:
            ending = Ending.MEMORY
        run_state.finished.acquire()  # where the watchdog has it, it is about to end the process
        return run_state.finish(ending)


@contextmanager
def catching_signals(run_state: SolveRun) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the search at its next check; a second one ends the process at once."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if run_state.signal is not None:
            os._exit(128 + number)
        run_state.signal = number
        run_state.budget.interrupt()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def watchdog(run_state: SolveRun) -> Iterator[None]:
    """Hold the time limit even while a long native call keeps the search from looking at the clock."""
    limit = run_state.request.overall_time_limit
    if limit is None:
        yield
        return

    def overrun() -> None:
        run_state.budget.ending = run_state.budget.ending or Ending.TIME
        if run_state.finished.acquire(blocking=False):
            code = int(ExitCode.INTERNAL_ERROR)
            try:
                code = run_state.finish(Ending.TIME)
            except OclgenError as error:
                print(f"oclgen: {error}", file=sys.stderr, flush=True)
                code = int(error.exit_code)
            finally:
                os._exit(code)

    timer = threading.Timer(max(0.0, limit + GRACE_SECONDS - run_state.budget.elapsed()), overrun)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    try:
        write_json(path, record, indent=None)
    except OSError as error:
        raise OclgenError(f"{path}: cannot write the record: {error.strerror}") from None
