"""Ray behind `run_unordered`: the same function over the same jobs, on all nodes of a cluster.

A task is a batch of jobs, as many as take a second or two, so that short jobs cost little and long ones go one by one.
Only a few tasks per core are in flight. Ray itself never runs a task again (its retries after a lack of memory have no
end); this module does, so many times at most, job by job, so that a job that kills its worker is found and named. A
task has one result, and the driver alone writes results down, so nothing is lost or doubled when a node dies.

Children of a worker die with it (`oclgen.support.processes`): Ray's own clean-up does not reach those that called
`setsid`. Limits of time and memory are kept where the work is; Ray only counts cores.
"""

import logging
import os
import platform
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

from oclgen import __version__
from oclgen.errors import InputError, OclgenError
from oclgen.support.parallel import AHEAD, Job, Result, attempt, died

TASK_SECONDS = 2.0
"""A task begins no further job after so long; what is left of its batch is given out again."""
MOST_BATCH = 100
MOST_TRIES = 5
"""A job whose worker or node died so often is given up."""
LOOK_SECONDS = 5.0
"""How often the nodes are counted: they may come and go."""
WAIT_SECONDS = 0.5
"""How long Ray is waited for at a time, so that signals get through."""
OBJECT_STORE = 256 << 20
"""Bytes, of a Ray that is started here: jobs and results are small."""


@dataclass(frozen=True, slots=True)
class Batch:
    jobs: tuple[Any, ...]
    tries: int = 1


@dataclass(frozen=True, slots=True)
class Done:
    """What a task returns: for each job of its batch that was begun the result or the exception, and who did it."""

    attempts: list[tuple[Any, Exception | None]]
    seconds: float
    host: str
    node: str
    version: str = __version__


def run_batch(function: Callable[[Any], Any], jobs: tuple[Any, ...], folder: Path) -> Done:
    """The task: do jobs, in the driver's folder, until one fails or the time of a task is over."""
    import ray

    try:
        os.chdir(folder)
    except OSError as error:
        message = f"{folder}: not there on node {platform.node()}; a cluster needs a shared file system"
        raise InputError(message) from error
    started = time.monotonic()
    attempts: list[tuple[Any, Exception | None]] = []
    for job in jobs:
        attempts.append(attempt(function, job))
        if attempts[-1][1] is not None or time.monotonic() - started > TASK_SECONDS:
            break
    node = ray.get_runtime_context().get_node_id()
    return Done(attempts, time.monotonic() - started, platform.node(), node)


@dataclass
class BatchSize:
    """How many jobs a task gets: what fits into its time, but never much of what each worker has done so far, so that
    a short list of jobs still keeps all workers busy."""

    jobs: int = 0
    seconds: float = 0.0

    def add(self, done: Done) -> None:
        self.jobs += len(done.attempts)
        self.seconds += done.seconds

    def next(self, workers: int) -> int:
        in_time = int(TASK_SECONDS * self.jobs / max(self.seconds, 1e-3))
        return max(1, min(MOST_BATCH, in_time, self.jobs // (AHEAD * workers)))


@dataclass
class RayCluster:
    """The Ray cluster that this process has joined. `limit` is the most tasks at a time; None is one per core."""

    limit: int | None = None
    folder: Path = field(default_factory=Path.cwd)
    finished: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Jobs by host and node."""
    repeated: int = 0
    _cores: int = 1
    _looked: float = -LOOK_SECONDS

    @property
    def cores(self) -> int:
        import ray

        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._cores = max(1, int(ray.cluster_resources().get("CPU", 0)))
            self._looked = time.monotonic()
        return self._cores

    @property
    def count(self) -> int:
        return min(self.cores, self.limit or self.cores)

    @property
    def in_flight(self) -> int:
        """Tasks given out: more than run at a time, unless the user wants some cores left alone."""
        return self.limit if self.limit is not None and self.limit < self.cores else AHEAD * self.cores

    @property
    def note(self) -> str:
        """`nodes: a 120, b 131; 2 tasks run again`."""
        hosts = Counter(host for host, _ in self.finished)
        names = {key: key[0] if hosts[key[0]] == 1 else f"{key[0]}/{key[1][:4]}" for key in self.finished}
        listed = ", ".join(f"{names[key]} {count}" for key, count in sorted(self.finished.items()))
        again = f"; {self.repeated} tasks run again" if self.repeated else ""
        return f"nodes: {listed}{again}" if listed else ""

    def run(self, function: Callable[[Job], Result], jobs: Iterator[Job], cores: int = 1) -> Iterator[Result]:
        """Results in the order they are finished; an early end cancels what is in flight, by force."""
        import ray
        from ray.exceptions import RayError

        check_cores(cores)
        run = Run(self, jobs)
        task = ray.remote(num_cpus=cores, max_retries=0)(run_batch)
        flying: dict[Any, Batch] = {}
        try:
            while True:
                while len(flying) < self.in_flight and (batch := run.next_batch()) is not None:
                    flying[task.remote(function, batch.jobs, self.folder)] = batch
                if not flying:
                    return
                for ready in finished_tasks(list(flying)):
                    yield from run.results(flying.pop(ready), partial(ray.get, ready))
        except RayError as error:
            raise OclgenError(f"the Ray cluster fails: {one_line(error)}; nothing that was done is lost") from error
        finally:
            for reference in flying:
                ray.cancel(reference, force=True)


def check_cores(cores: int) -> None:
    """Ray would wait for ever for a node that is large enough."""
    import ray

    if cores > 1 and all(node["Resources"].get("CPU", 0) < cores for node in ray.nodes() if node["Alive"]):
        raise InputError(f"no node of the cluster has {cores} cores")


def finished_tasks(flying: list[Any]) -> list[Any]:
    """At most one, perhaps none yet."""
    import ray

    try:
        ready: list[Any] = ray.wait(flying, timeout=WAIT_SECONDS)[0]
    except SystemError as error:  # so Ray passes on what a signal's handler has raised
        raise error.__cause__ or error from None
    return ready


class Run:
    """The batches of one `RayCluster.run`: new ones, and those to be run again."""

    def __init__(self, cluster: RayCluster, jobs: Iterator[Any]) -> None:
        self._cluster, self._jobs, self._size = cluster, jobs, BatchSize()
        self._again: deque[Batch] = deque()

    def next_batch(self) -> Batch | None:
        if self._again:
            return self._again.popleft()
        jobs = tuple(islice(self._jobs, self._size.next(self._cluster.count)))
        return Batch(jobs) if jobs else None

    def results(self, batch: Batch, get: Callable[[], Done]) -> Iterator[Any]:
        """Those of a finished task; what it did not begin, and all of a lost one, is run again."""
        from ray.exceptions import NodeDiedError, ObjectLostError, OutOfMemoryError, RayTaskError, WorkerCrashedError

        try:
            done = get()
        except RayTaskError as error:  # of the task around the jobs: oclgen or the folder is not there
            if isinstance(error.cause, OclgenError):
                raise error.cause from None
            raise OclgenError(f"a node of the cluster cannot run this: {str(error).splitlines()[-1]}") from None
        except (NodeDiedError, ObjectLostError, OutOfMemoryError, WorkerCrashedError) as error:
            self._repeat(batch, error)
            return
        check_version(done)
        if rest := batch.jobs[len(done.attempts) :]:
            self._again.append(Batch(rest, batch.tries))
        self._size.add(done)
        for result, failure in done.attempts:
            if failure is not None:
                raise failure
            self._cluster.finished[done.host, done.node] += 1
            yield result

    def _repeat(self, batch: Batch, error: Exception) -> None:
        if batch.tries >= MOST_TRIES:
            failure = died(batch.jobs[0])
            failure.add_note(f"{MOST_TRIES} times; at last: {one_line(error)}")
            raise failure from None
        self._cluster.repeated += 1
        self._again.extend(Batch((job,), batch.tries + 1) for job in batch.jobs)


def check_version(done: Done) -> None:
    if done.version != __version__:
        raise InputError(f"node {done.host} has oclgen {done.version}, this machine {__version__}; install one version")


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


@contextmanager
def joined(address: str, limit: int | None = None) -> Iterator[RayCluster]:
    """The cluster at an address. `auto` is the one that RAY_ADDRESS names or that runs on this machine already (`ray
    start`), or else one that is started here, with `limit` cores, and that ends with this process."""
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        if address == "auto":
            start_or_join(limit)
        else:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises bare ones, for instance where a node starts too slowly
        raise InputError(f"no Ray cluster at {address}: {one_line(error)}") from None
    if threading.current_thread() is threading.main_thread():  # Ray has put a handler there that ends at once
        signal.signal(signal.SIGTERM, on_term if callable(on_term) else leave)
    try:
        yield RayCluster(limit)
    finally:
        ray.shutdown()


def leave(number: int, _: FrameType | None) -> None:
    """End in order, so that what is in flight is cancelled."""
    sys.exit(128 + number)


def start_or_join(cores: int | None) -> None:
    """Ray refuses a number of cores where it finds a cluster to join, which may be gone by now."""
    import ray

    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: slower than anything else on the machine
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    own = {"num_cpus": cores or os.cpu_count(), "include_dashboard": False, "object_store_memory": OBJECT_STORE}
    try:
        ray.init(**own, **quiet)
        return
    except ValueError:
        pass
    try:
        ray.init(**quiet)
    except ConnectionError:
        ray.init(address="local", **own, **quiet)
