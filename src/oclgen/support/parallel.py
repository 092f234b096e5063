"""The one seam between work and workers: apply a function to jobs, in processes of this machine or on a cluster.

Jobs are taken as workers become free, so an endless or lazy stream of jobs is fine, and results come as they are
finished. Workers die with this process, however it ends. A process that dies ends the run; a cluster runs its jobs
again elsewhere (`oclgen.support.cluster`).
"""

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

from oclgen.errors import OclgenError
from oclgen.support.processes import die_with_parent

AHEAD = 2
"""Jobs given to a worker at once: the next one is there before the last one is finished, so no worker waits."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class WorkerDied(OclgenError):
    """A worker process ended in the middle of a job (killed, out of memory, a crash in native code)."""


class Cluster(Protocol):
    """Workers on other machines."""

    @property
    def count(self) -> int:
        """How many there are now."""

    @property
    def note(self) -> str:
        """How far each machine is, for a line of progress."""

    def run(self, function: Callable[[Job], Result], jobs: Iterator[Job], cores: int = 1) -> Iterator[Result]:
        """As `run_unordered`; a job gets so many cores of one machine."""


Workers = int | Cluster
"""How many processes of this machine, or a cluster."""


def worker_count(workers: Workers) -> int:
    return workers if isinstance(workers, int) else workers.count


def local_count(workers: Workers) -> int:
    """Processes of this machine, for work that must stay here."""
    return workers if isinstance(workers, int) else os.cpu_count() or 1


def at_most(workers: Workers, jobs: int) -> Workers:
    """No more processes than jobs."""
    return min(workers, max(1, jobs)) if isinstance(workers, int) else workers


def progress_note(workers: Workers, *notes: str) -> str:
    """What follows the numbers in a line of progress."""
    return ", ".join(filter(None, [*notes, "" if isinstance(workers, int) else workers.note]))


def run_unordered(function: Callable[[Job], Result], jobs: Iterable[Job], workers: Workers) -> Iterator[Result]:
    """Results of `function` over `jobs` in the order they are finished; a few jobs per worker are in flight.

    An exception of `function` is raised here, with a note that names its job. One process means this process.
    `function`, jobs and results must be picklable.
    """
    if not isinstance(workers, int):
        yield from workers.run(function, iter(jobs))
        return
    if workers > 1:
        yield from run_in_processes(function, iter(jobs), workers)
        return
    for job in jobs:
        try:
            yield function(job)
        except Exception as error:
            error.add_note(f"job: {job!r}")
            raise


def run_in_processes(function: Callable[[Job], Result], jobs: Iterator[Job], workers: int) -> Iterator[Result]:
    processes: list[BaseProcess] = []
    working: dict[Connection, deque[Job]] = {}
    try:
        for _, job in zip(range(workers), jobs, strict=False):
            connection, process = start_worker(function)
            processes.append(process)
            working[connection] = deque()
            assign(connection, job, working)
        for connection in list(working):
            assign_next(connection, jobs, working)
        while busy := [connection for connection, queue in working.items() if queue]:
            for ready in wait(busy):
                assert isinstance(ready, Connection)
                result = receive(ready, working[ready].popleft())
                assign_next(ready, jobs, working)
                yield result
    finally:
        for process in processes:
            process.kill()
            process.join()


def assign_next(connection: Connection, jobs: Iterator[Job], working: dict[Connection, deque[Job]]) -> None:
    while len(working[connection]) < AHEAD:
        try:
            job = next(jobs)
        except StopIteration:
            return
        assign(connection, job, working)


def assign(connection: Connection, job: Job, working: dict[Connection, deque[Job]]) -> None:
    working[connection].append(job)
    try:
        connection.send(job)
    except (BrokenPipeError, ConnectionResetError):
        raise died(working[connection][0]) from None


def receive(connection: Connection, job: object) -> Any:
    try:
        result, error = connection.recv()
    except (EOFError, ConnectionResetError):
        raise died(job) from None
    if error is not None:
        raise error
    return result


def died(job: object) -> WorkerDied:
    return WorkerDied(f"a worker process was killed or crashed; its job: {job!r:.200}")


def start_worker(function: Callable[[Job], Result]) -> tuple[Connection, BaseProcess]:
    """A fresh interpreter (`spawn`): nothing of this process, threads and locks included, leaks into it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(function, theirs, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    return ours, process


def work(function: Callable[[Any], Any], connection: Connection, parent: int) -> None:
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    waiting: SimpleQueue[tuple[Any] | None] = SimpleQueue()
    Thread(target=take_jobs, args=(connection, waiting), daemon=True).start()
    while (job := waiting.get()) is not None:
        connection.send(attempt(function, *job))


def take_jobs(connection: Connection, waiting: "SimpleQueue[tuple[Any] | None]") -> None:
    """Read while work goes on: a parent that waits to hand over a large job cannot take a large result."""
    try:
        with suppress(EOFError):
            while True:
                waiting.put((connection.recv(),))
    finally:
        waiting.put(None)


def attempt(function: Callable[[Any], Any], job: object) -> tuple[object, Exception | None]:
    """The result, or the exception with what a pickled exception loses: where it came from."""
    try:
        return function(job), None
    except Exception as error:
        error.add_note(f"job: {job!r}\n{traceback.format_exc()}")
        return None, error
