"""What a child leaves behind: processes that it started and that outlive it, if only until their memory is freed.

The benchmark adopts them (Linux), so that their time counts as the child's, and its core is free when they are gone.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import psutil

PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def adopting() -> Iterator[None]:
    """Until the end of this, this process becomes the parent of what its children leave behind."""
    set_adopting(True)
    try:
        yield
    finally:
        set_adopting(False)


def set_adopting(on: bool) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(on))


def orphans_on(cores: set[int], children: Iterable[int]) -> list[int]:
    """Processes that were adopted and run on just these cores; `children` are those that were not adopted."""
    if sys.platform != "linux":
        return []
    found = {process.pid for process in psutil.Process().children()} - set(children)
    return sorted(pid for pid in found if affinity(pid) == cores)


def affinity(pid: int) -> set[int]:
    try:
        return os.sched_getaffinity(pid)
    except OSError:
        return set()


def collect(pid: int) -> float | None:
    """Kill an adopted process; the time that it and its own children have used, or None while it is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
        ended, _, usage = os.wait4(pid, os.WNOHANG)
    except OSError:
        return 0.0
    return usage.ru_utime + usage.ru_stime if ended else None
