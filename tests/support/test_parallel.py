"""The seam between work and workers: the same for this process, for others, and for a cluster; then what only a cluster
does."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import psutil
import pytest

from oclgen.errors import InputError
from oclgen.support import cluster as cluster_module
from oclgen.support.cluster import BatchSize, Done, RayCluster
from oclgen.support.parallel import AHEAD, WorkerDied, Workers, run_unordered
from tests.nodes import Nodes
from tests.support.jobs import (
    die,
    die_once,
    fail_at_three,
    folder,
    process_id,
    same,
    sleep,
    slowly,
    square,
    start_child,
)


@pytest.fixture(params=["this process", "processes", "cluster"])
def workers(request: pytest.FixtureRequest) -> Workers:
    if request.param == "cluster":
        found: RayCluster = request.getfixturevalue("cluster")
        return found
    return 1 if request.param == "this process" else 3


def children() -> list[psutil.Process]:
    """Worker processes; a cluster's servers are children, too."""
    return [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]


def test_every_job_gives_its_result_once(workers: Workers) -> None:
    assert sorted(run_unordered(square, range(60), workers)) == [number * number for number in range(60)]


def test_no_jobs_give_no_results(workers: Workers) -> None:
    assert list(run_unordered(square, [], workers)) == []


def test_an_exception_arrives_with_its_job(workers: Workers) -> None:
    with pytest.raises(ValueError, match="three is too many") as error:
        list(run_unordered(fail_at_three, range(6), workers))
    assert any("job: 3" in note for note in error.value.__notes__)
    assert not children()


def test_jobs_are_taken_only_as_workers_become_free(workers: Workers) -> None:
    taken = 0

    def jobs() -> Iterator[int]:
        nonlocal taken
        for number in count():
            taken += 1
            yield number

    assert len(list(islice(run_unordered(slowly, jobs(), workers), 5))) == 5
    assert taken <= 5 + AHEAD * 3


def test_jobs_and_results_larger_than_a_pipe_get_through(workers: Workers) -> None:
    assert [len(echo) for echo in run_unordered(same, [bytes(1 << 20)] * 6, workers)] == [1 << 20] * 6


def test_workers_stand_in_the_folder_of_the_driver(workers: Workers) -> None:
    assert set(run_unordered(folder, range(2), workers)) == {str(Path.cwd())}


def test_one_worker_is_this_process_and_more_are_others() -> None:
    assert set(run_unordered(process_id, range(3), 1)) == {os.getpid()}
    others = set(run_unordered(process_id, range(8), 2))
    assert os.getpid() not in others
    assert not children()


def test_a_worker_process_that_dies_is_noticed() -> None:
    with pytest.raises(WorkerDied, match="its job: 7"):
        list(run_unordered(die, [7], 2))


def test_closing_early_ends_the_worker_processes() -> None:
    results = run_unordered(sleep, [0.0, 600.0, 600.0], 2)
    next(results)
    assert children()
    results.close()  # type: ignore[attr-defined]
    assert not children()


def test_worker_processes_die_with_a_parent_that_is_killed() -> None:
    code = (
        "import psutil; from oclgen.support.parallel import run_unordered\n"
        "from tests.support.jobs import sleep\n"
        "if __name__ == '__main__':\n"
        "    results = run_unordered(sleep, [0.0, 600.0, 600.0], 2); next(results)\n"
        "    print(*(child.pid for child in psutil.Process().children()), flush=True); list(results)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        workers = [psutil.Process(int(word)) for word in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive


def done(jobs: int, seconds: float) -> Done:
    return Done([(None, None)] * jobs, seconds, "host", "node")


def test_batches_grow_with_what_is_done_and_stay_within_a_tasks_time() -> None:
    size = BatchSize()
    assert size.next(2) == 1
    size.add(done(8, 0.08))
    assert size.next(2) == 2
    size.add(done(1000, 10.0))
    assert size.next(2) == cluster_module.MOST_BATCH
    size.add(done(10, 10_000.0))
    assert size.next(2) == 1


def test_a_node_with_another_version_is_named() -> None:
    with pytest.raises(InputError, match=r"node host has oclgen 0\.0"):
        cluster_module.check_version(Done([], 0.0, "host", "node", "0.0"))


def test_a_job_whose_worker_was_killed_is_done_again_and_once(cluster: RayCluster, tmp_path: Path) -> None:
    marks = [tmp_path / str(number) for number in range(6)]
    for mark in marks[1:]:
        mark.touch()
    assert sorted(run_unordered(die_once, marks, cluster)) == [mark.name for mark in marks]
    assert cluster.repeated == 1 and cluster.note.endswith("; 1 tasks run again")


def test_more_cores_than_any_node_has_are_refused_instead_of_waited_for(cluster: RayCluster) -> None:
    with pytest.raises(InputError, match="no node of the cluster has 2 cores"):
        list(cluster.run(square, iter(range(3)), cores=2))


def test_a_job_that_always_kills_its_worker_is_named(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "MOST_TRIES", 2)
    with pytest.raises(WorkerDied, match="its job: 7"):
        list(run_unordered(die, [7], cluster))


def test_a_node_that_dies_loses_and_doubles_nothing(nodes: Nodes, cluster: RayCluster) -> None:
    found, killed = [], 0
    for number in run_unordered(slowly, range(60), cluster):
        found.append(number)
        killed += nodes.kill_first(cluster)
    assert killed == 1 and sorted(found) == list(range(60))
    assert sum(cluster.finished.values()) == 60 and len(cluster.finished) == 2


def test_an_early_end_reaches_children_in_sessions_of_their_own(cluster: RayCluster, tmp_path: Path) -> None:
    file = tmp_path / "child"
    results = run_unordered(start_child, [file], cluster)
    with pytest.raises(TimeoutError):
        wait_for(file, results)
    results.close()  # type: ignore[attr-defined]
    assert is_gone(int(file.read_text()))


def is_gone(process: int) -> bool:
    """Whether a process ends within a minute."""
    try:
        return not psutil.wait_procs([psutil.Process(process)], timeout=60)[1]
    except psutil.NoSuchProcess:
        return True


def wait_for(file: Path, results: Iterator[None]) -> None:
    """Wait for a job that never ends, until its child is there."""

    def stop(*_: object) -> None:
        if file.exists() and file.read_text():
            raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
    try:
        next(results)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
