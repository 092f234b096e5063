import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count, islice

import psutil
import pytest

from oclgen.support.parallel import AHEAD, WorkerDied, run_unordered


def square(number: int) -> int:
    return number * number


def same(data: bytes) -> bytes:
    return data


def process_id(_: int) -> int:
    return os.getpid()


def fail_at_three(number: int) -> int:
    if number == 3:
        raise ValueError("three is too many")
    return number


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def children() -> list[psutil.Process]:
    """Without the tracker that `multiprocessing` keeps until the interpreter ends."""
    return [child for child in psutil.Process().children() if "resource_tracker" not in " ".join(child.cmdline())]


@pytest.mark.parametrize("workers", [1, 3])
def test_every_job_gives_its_result_once(workers: int) -> None:
    assert sorted(run_unordered(square, range(20), workers)) == [number * number for number in range(20)]


@pytest.mark.parametrize("workers", [1, 2])
def test_no_jobs_give_no_results(workers: int) -> None:
    assert list(run_unordered(square, [], workers)) == []


def test_one_worker_is_this_process_and_more_are_others() -> None:
    assert set(run_unordered(process_id, range(3), 1)) == {os.getpid()}
    others = set(run_unordered(process_id, range(8), 2))
    assert os.getpid() not in others
    assert not children()


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_are_taken_only_as_workers_become_free(workers: int) -> None:
    taken = 0

    def jobs() -> Iterator[int]:
        nonlocal taken
        for number in count():
            taken += 1
            yield number

    assert len(list(islice(run_unordered(square, jobs(), workers), 5))) == 5
    assert taken <= 5 + AHEAD * workers


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_arrives_with_its_job(workers: int) -> None:
    with pytest.raises(ValueError, match="three is too many") as error:
        list(run_unordered(fail_at_three, range(6), workers))
    assert any("job: 3" in note for note in error.value.__notes__)
    assert not children()


def test_a_worker_that_dies_is_noticed() -> None:
    with pytest.raises(WorkerDied, match="its job: 7"):
        list(run_unordered(die, [7], 2))


def test_jobs_and_results_larger_than_a_pipe_get_through() -> None:
    assert [len(echo) for echo in run_unordered(same, [bytes(1 << 20)] * 6, 2)] == [1 << 20] * 6


def test_closing_early_ends_the_workers() -> None:
    results = run_unordered(sleep, [0.0, 600.0, 600.0], 2)
    next(results)
    assert children()
    results.close()  # type: ignore[attr-defined]
    assert not children()


def test_workers_die_with_a_parent_that_is_killed() -> None:
    code = (
        "import psutil; from oclgen.support.parallel import run_unordered\n"
        "from tests.support.test_parallel import sleep, children\n"
        "if __name__ == '__main__':\n"
        "    results = run_unordered(sleep, [0.0, 600.0, 600.0], 2); next(results)\n"
        "    print(*(child.pid for child in children()), flush=True); list(results)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        workers = [psutil.Process(int(word)) for word in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive
