"""Timed child processes, each on cores of its own, with limits on time and memory set from outside.

A core belongs to one benchmark of the machine at a time: the benchmark and its children hold a lock. Children are
pinned to their cores (one, unless the job asks for more) and die with this process. A child that is still running a
little after its limit is killed with its process group, and whatever a child leaves behind is killed, too.
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from oclgen.bench import machine
from oclgen.bench.jobs import BenchJob
from oclgen.bench.orphans import adopting, collect, orphans_on
from oclgen.errors import InputError
from oclgen.support.files import try_lock
from oclgen.support.processes import die_with_parent

POLL_SECONDS = 0.02
THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
MAX_LOST_SHARE = 0.02
"""A run that loses more of its time to other processes is marked as disturbed."""
ORPHAN_SECONDS = 10.0
"""At most, for what a child left behind to be gone."""
CLOCK_SECONDS = 0.02
"""Error of the core's busy time: two readings of a clock that ticks every 10 ms."""


@dataclass(frozen=True, slots=True)
class Core:
    """A processor core reserved for this process as long as `lock` is open."""

    number: int
    lock: TextIO


@dataclass(frozen=True, slots=True)
class FinishedChild:
    """How a child ended; its folder still holds what it wrote."""

    job: BenchJob
    folder: Path
    exit_code: int
    killed: bool
    wall_seconds: float
    cpu_seconds: float
    peak_memory_kb: int
    others_seconds: float | None = None
    """How long other processes (or other virtual machines) kept its cores busy; None if the system does not say."""

    @property
    def lost_seconds(self) -> float:
        """Time in which the child did not run although it may have wanted to, because others used its cores."""
        waited = max(0.0, self.job.cores * self.wall_seconds - self.cpu_seconds)
        return waited if self.others_seconds is None else min(waited, max(0.0, self.others_seconds))

    @property
    def disturbed(self) -> bool:
        return self.lost_seconds > self.job.cores * (MAX_LOST_SHARE * self.wall_seconds + CLOCK_SECONDS)

    def last_error_line(self) -> str:
        """The last line on standard error."""
        lines = (self.folder / "stderr").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1].strip()[-500:] if lines else ""


@dataclass(slots=True)
class RunningChild:
    """A child process on its cores."""

    job: BenchJob
    cores: Sequence[Core]
    folder: tempfile.TemporaryDirectory[str]
    process: subprocess.Popen[bytes]
    started: float
    busy_before: float | None
    killed: bool = False
    ended: float | None = None
    cpu_seconds: float = 0.0
    peak_memory_kb: int = 0

    def poll(self, children: Iterable[int]) -> FinishedChild | None:
        """The finished child, or None while it or what it left behind runs. `children` are the processes of all
        running children."""
        if not self.has_ended() or not self.has_left_nothing(children):
            return None
        assert self.ended is not None and self.process.returncode is not None
        return FinishedChild(
            self.job,
            Path(self.folder.name),
            self.process.returncode,
            self.killed,
            self.ended - self.started,
            self.cpu_seconds,
            self.peak_memory_kb,
            self.others_seconds(self.cpu_seconds),
        )

    def has_ended(self) -> bool:
        """Whether the process itself is gone; kills it when it is overdue."""
        if self.ended is not None:
            return True
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        now = time.monotonic()
        if pid == 0:
            if not self.killed and now - self.started > self.job.seconds + grace(self.job.seconds):
                self.killed = True
                self.kill()
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.ended = now
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.peak_memory_kb = usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
        self.kill()  # whatever the child left behind in its group
        return True

    def has_left_nothing(self, children: Iterable[int]) -> bool:
        """Whether no process of the child is left on its cores; kills and counts those that are."""
        assert self.ended is not None
        gone = True
        for pid in orphans_on({core.number for core in self.cores}, children):
            seconds = collect(pid)
            self.cpu_seconds += seconds or 0.0
            gone = gone and seconds is not None
        return gone or time.monotonic() - self.ended > ORPHAN_SECONDS

    def others_seconds(self, cpu_seconds: float) -> float | None:
        """The busy time of the cores since the child started that was not the child's own."""
        busy = busy_seconds(self.cores)
        if busy is None or self.busy_before is None:
            return None
        return busy - self.busy_before - cpu_seconds

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def abandon(self) -> None:
        self.kill()
        self.process.wait()
        self.folder.cleanup()


def busy_seconds(cores: Sequence[Core]) -> float | None:
    busy = [machine.busy_seconds(core.number) for core in cores]
    known = [seconds for seconds in busy if seconds is not None]
    return sum(known) if len(known) == len(busy) else None


def grace(limit: float) -> float:
    """Seconds past its limit after which a child is killed."""
    return 5.0 + min(0.1 * limit, 55.0)


def free_cores(wanted: int | None) -> list[Core]:
    """Up to `wanted` (default: all) of the cores that this process may use and no other benchmark holds."""
    numbers = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    cores: list[Core] = []
    for number in numbers:
        if len(cores) == (wanted or len(numbers)):
            break
        lock = try_lock(Path(tempfile.gettempdir()) / f"oclgen-core-{number}.lock")
        if lock is not None:
            cores.append(Core(number, lock))
    if not cores:
        raise InputError("every core is taken by another benchmark; two timed jobs must not share one")
    return cores


def release(cores: Sequence[Core]) -> None:
    for core in cores:
        core.lock.close()


def run_jobs(
    jobs: Sequence[BenchJob], cores: Sequence[Core], prepared: Callable[[BenchJob], BenchJob] | None = None
) -> Generator[FinishedChild, None, None]:
    """Run all jobs in their order as cores become free; yield each as it ends (its folder lasts until the next).

    `prepared` gives the last touch to a job when it starts.
    """
    check_cores(jobs, len(cores))
    waiting = list(reversed(jobs))
    idle = list(cores)
    running: list[RunningChild] = []
    with adopting():
        try:
            while waiting or running:
                while waiting and waiting[-1].cores <= len(idle):
                    job = waiting.pop()
                    job = job if prepared is None else prepared(job)
                    running.append(start(job, idle[: job.cores]))
                    del idle[: job.cores]
                for child in list(running):
                    finished = child.poll([each.process.pid for each in running])
                    if finished is not None:
                        running.remove(child)
                        idle += child.cores
                        with child.folder:
                            yield finished
                if running:
                    time.sleep(POLL_SECONDS)
        finally:
            for child in running:
                child.abandon()


def check_cores(jobs: Sequence[BenchJob], cores: int) -> None:
    for job in jobs:
        if job.cores > cores:
            raise InputError(
                f"run {job.line['label']!r} asks for {job.cores} threads, but there are {cores} free cores"
            )


def start(job: BenchJob, cores: Sequence[Core]) -> RunningChild:
    """Start the child in its own session and folder, on its cores, with a memory limit."""
    parent = os.getpid()
    folder = tempfile.TemporaryDirectory(prefix="oclgen-bench-")

    def prepare() -> None:
        die_with_parent(parent)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core.number for core in cores})
        bound = job.memory * 5 // 4 + (512 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))

    busy_before = busy_seconds(cores)
    with (Path(folder.name) / "stdout").open("wb") as out, (Path(folder.name) / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            job.command,
            cwd=folder.name,
            env={**os.environ, **dict.fromkeys(THREAD_COUNTS, "1"), "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
            pass_fds=[core.lock.fileno() for core in cores],
            preexec_fn=prepare,  # safe: this process has one thread
        )
    return RunningChild(job, cores, folder, process, time.monotonic(), busy_before)
