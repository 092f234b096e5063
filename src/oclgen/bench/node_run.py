"""Timed runs on the nodes of a cluster.

A cluster's worker has many threads, and a run must be started by a process with one (see `runner.start`). So the
worker starts this module as a process of its own, which takes cores of the node, runs the job as on any machine, makes
its records there (with the node's name, its load, what the run lost to others), and dies with the worker, and the run
with it.
"""

import os
import pickle
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace

from oclgen.bench import machine
from oclgen.bench.jobs import BenchJob
from oclgen.bench.outcome import JobOutcome, job_outcome
from oclgen.bench.runner import Core, free_cores, release, run_jobs
from oclgen.errors import InputError, OclgenError
from oclgen.support.parallel import Cluster, attempt
from oclgen.support.processes import die_with_parent

PATIENCE = 60.0
"""Seconds in which a core becomes free that a run before still held."""
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class NodeJob:
    """A job, and the revision of the driver."""

    job: BenchJob
    revision: str


def run_on_nodes(
    jobs: list[BenchJob], revision: str, cluster: Cluster, prepared: Callable[[BenchJob], BenchJob]
) -> Generator[JobOutcome]:
    """Outcomes as they come; the scheduler gives each run its whole cores. `prepared` is called when a job is sent."""
    for cores in sorted({job.cores for job in jobs}):
        some = (NodeJob(prepared(job), revision) for job in jobs if job.cores == cores)
        yield from cluster.run(run_in_process, some, cores)


def run_in_process(asked: NodeJob) -> JobOutcome:
    """What a worker of the cluster does."""
    command = [sys.executable, "-m", __name__, str(os.getpid())]
    done = subprocess.run(command, input=pickle.dumps(asked), capture_output=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise OclgenError(f"node {platform.node()}: a run's process ended with {done.returncode}: {''.join(reason)}")
    outcome, error = pickle.loads(done.stdout)
    if error is not None:
        raise error
    assert isinstance(outcome, JobOutcome)
    return outcome


def run_here(asked: NodeJob) -> JobOutcome:
    """Run the job on free cores, with this machine's interpreter."""
    job = replace(asked.job, command=(sys.executable, *asked.job.command[1:]))
    environment = {"machine": machine.describe(), "node": platform.node(), "revision": asked.revision}
    cores = await_cores(asked.job.cores)
    try:
        with closing(run_jobs([job], cores)) as children:
            return job_outcome(next(children), environment)
    finally:
        release(cores)


def await_cores(count: int) -> list[Core]:
    """The cluster's scheduler has counted them for us; if they are still taken after a while, another benchmark has
    them."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            cores = free_cores(count)
        except InputError:
            if time.monotonic() > end:
                raise
        else:
            if len(cores) == count or time.monotonic() > end:
                return cores
            release(cores)
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    die_with_parent(int(sys.argv[1]))
    given: NodeJob = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(attempt(run_here, given)))
    sys.stdout.buffer.flush()
