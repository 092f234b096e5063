"""Timed child processes, one per core at a time, each bounded from outside as well.

A core belongs to one benchmark of the machine at a time (a lock that the children hold too), children are tied to
their core and to this process, and one that has not ended a little after its limit is killed with its whole group.
"""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from oclgen.bench.jobs import BenchJob
from oclgen.errors import InputError
from oclgen.support.processes import die_with_parent

LOOK_SECONDS = 0.02
THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Core:
    """A processor core that this process alone may time jobs on, as long as `lock` is open."""

    number: int
    lock: int


@dataclass(frozen=True, slots=True)
class FinishedChild:
    """What is left of a child: its folder still holds what it wrote."""

    job: BenchJob
    folder: Path
    exit_code: int
    killed: bool
    wall_seconds: float
    cpu_seconds: float
    peak_memory_kb: int

    def last_error_line(self) -> str:
        """The last line on standard error."""
        lines = (self.folder / "stderr").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1].strip()[-500:] if lines else ""


@dataclass(slots=True)
class RunningChild:
    """A child at work on a core."""

    job: BenchJob
    core: Core
    folder: tempfile.TemporaryDirectory[str]
    process: subprocess.Popen[bytes]
    started: float
    killed: bool = False

    def look(self) -> FinishedChild | None:
        """Whether it has ended; kills it when it is overdue."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        now = time.monotonic()
        if pid == 0:
            if not self.killed and now - self.started > self.job.seconds + grace(self.job.seconds):
                self.killed = True
                self.kill()
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.kill()  # whatever the child left behind in its group
        return FinishedChild(
            self.job,
            Path(self.folder.name),
            self.process.returncode,
            self.killed,
            now - self.started,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1),
        )

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def abandon(self) -> None:
        self.kill()
        self.process.wait()
        self.folder.cleanup()


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
        lock = os.open(Path(tempfile.gettempdir()) / f"oclgen-core-{number}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        cores.append(Core(number, lock))
    if not cores:
        raise InputError("every core is taken by another benchmark; two timed jobs must not share one")
    return cores


def release(cores: Sequence[Core]) -> None:
    for core in cores:
        os.close(core.lock)


def run_jobs(jobs: Sequence[BenchJob], cores: Sequence[Core]) -> Generator[FinishedChild, None, None]:
    """Run all jobs, one per core at a time, and yield each when it has ended (its folder lasts until the next one)."""
    waiting = list(reversed(jobs))
    idle = list(cores)
    running: list[RunningChild] = []
    try:
        while waiting or running:
            while waiting and idle:
                running.append(start(waiting.pop(), idle.pop(0)))
            for child in list(running):
                ended = child.look()
                if ended is not None:
                    running.remove(child)
                    idle.append(child.core)
                    with child.folder:
                        yield ended
            if running:
                time.sleep(LOOK_SECONDS)
    finally:
        for child in running:
            child.abandon()


def start(job: BenchJob, core: Core) -> RunningChild:
    """The child in a session and a folder of its own, on its core, with one thread and a bound on memory."""
    parent = os.getpid()
    folder = tempfile.TemporaryDirectory(prefix="oclgen-bench-")

    def prepare() -> None:
        die_with_parent(parent)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core.number})
        bound = job.memory * 5 // 4 + (512 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))

    with (Path(folder.name) / "stdout").open("wb") as out, (Path(folder.name) / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            job.command,
            cwd=folder.name,
            env={**os.environ, **dict.fromkeys(THREAD_COUNTS, "1"), "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
            pass_fds=(core.lock,),
            preexec_fn=prepare,  # safe: this process has one thread
        )
    return RunningChild(job, core, folder, process, time.monotonic())
