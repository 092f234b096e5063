"""Children are bounded, tied to their core, and gone when nobody wants them any more."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from oclgen.bench import machine, runner
from oclgen.bench.jobs import BenchJob
from oclgen.bench.runner import Core, FinishedChild, free_cores, release, run_jobs
from oclgen.errors import InputError


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Core]]:
    """Locks of this test's own: other benchmarks of the machine do not matter here."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = free_cores(1)
    yield found
    release(found)


def job(code: str, seconds: float = 30.0, name: str = "job", cores: int = 1) -> BenchJob:
    return BenchJob(name, (sys.executable, "-c", code), seconds, 1 << 30, {"kind": "run", "label": name}, (), cores)


def run_one(cores: list[Core], code: str, seconds: float = 30.0) -> tuple[FinishedChild, str]:
    [result] = [(ended, (ended.folder / "stdout").read_text()) for ended in run_jobs([job(code, seconds)], cores)]
    return result


def test_a_child_runs_alone_on_its_core_with_one_thread(cores: list[Core]) -> None:
    ended, text = run_one(cores, "import os; print(os.sched_getaffinity(0), os.environ['OMP_NUM_THREADS'])")
    assert text.strip() == f"{{{cores[0].number}}} 1"
    assert (ended.exit_code, ended.killed) == (0, False)
    assert ended.peak_memory_kb > 1000 and ended.cpu_seconds > 0


def test_a_child_gets_as_many_cores_as_its_job_asks_for_and_waits_for_them(cores: list[Core]) -> None:
    doubled = [*cores, second(cores[0])]
    code = "import time; print(time.monotonic()); time.sleep(0.1); print(time.monotonic())"
    spans = {}
    for ended in run_jobs([job(code, name="one"), job(code, name="both", cores=2), job(code, name="last")], doubled):
        spans[ended.job.id] = [float(line) for line in (ended.folder / "stdout").read_text().split()]
    release(doubled[1:])
    assert spans["one"][1] <= spans["both"][0]
    assert spans["both"][1] <= spans["last"][0]


def test_more_cores_than_there_are_is_refused(cores: list[Core]) -> None:
    with pytest.raises(InputError, match="'wide' asks for 2 threads, but there are 1 free cores"):
        list(run_jobs([job("", name="wide", cores=2)], cores))


def test_exit_codes_signals_and_last_words_are_kept(cores: list[Core]) -> None:
    codes = ["import sys; sys.exit('oh no')", "import os; os.kill(os.getpid(), 11)"]
    seen = [(ended.exit_code, ended.last_error_line()) for ended in run_jobs([job(code) for code in codes], cores)]
    assert seen == [(1, "oh no"), (-11, "")]


def test_a_child_past_its_limit_is_killed_with_its_whole_group(
    cores: list[Core], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "grace", lambda limit: 1.0)
    code = (
        "import subprocess, sys, time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600']); print(child.pid, flush=True); time.sleep(600)"
    )
    ended, text = run_one(cores, code, seconds=1.0)
    assert ended.killed and ended.exit_code == -9
    wait_until_gone(int(text))


def test_what_a_child_leaves_behind_in_its_group_is_killed(cores: list[Core]) -> None:
    ended, text = run_one(cores, "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)")
    assert ended.exit_code == 0
    wait_until_gone(int(text))


LEAVES_A_BUSY_PROCESS = """
import subprocess, sys, time
busy = "import time\\nwhile time.process_time() < 0.4: pass\\nprint('busy', flush=True)\\ntime.sleep(600)"
left = subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE, start_new_session=True)
left.stdout.readline()
print(left.pid)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody adopts processes")
def test_what_a_child_leaves_behind_outside_its_group_is_killed_and_its_time_counts(cores: list[Core]) -> None:
    ended, text = run_one(cores, LEAVES_A_BUSY_PROCESS)
    assert (ended.exit_code, ended.killed) == (0, False)
    assert not psutil.pid_exists(int(text))  # collected, too
    assert ended.cpu_seconds > 0.4


def test_the_end_of_a_child_does_not_end_another_on_its_core(cores: list[Core]) -> None:
    """Two children on the same core: the end of one must not end the other."""
    slow = "import time; time.sleep(1.0); print('whole')"
    doubled = [*cores, second(cores[0])]
    texts = [(each.folder / "stdout").read_text() for each in run_jobs([job("print('short')"), job(slow)], doubled)]
    release(doubled[1:])
    assert texts == ["short\n", "whole\n"]


def test_a_leak_is_stopped_at_the_memory_bound(cores: list[Core]) -> None:
    leak = BenchJob("leak", (sys.executable, "-c", "x = bytearray(4 << 30)"), 30.0, 1 << 28, {"kind": "run"}, ())
    [(code, words)] = [(ended.exit_code, ended.last_error_line()) for ended in run_jobs([leak], cores)]
    assert code == 1 and "MemoryError" in words


def test_never_two_jobs_on_one_core_and_folders_go_away(cores: list[Core]) -> None:
    code = "import time; print(time.monotonic()); time.sleep(0.1); print(time.monotonic())"
    spans, folders = [], []
    for ended in run_jobs([job(code, name=str(number)) for number in range(3)], cores):
        spans.append([float(line) for line in (ended.folder / "stdout").read_text().split()])
        folders.append(ended.folder)
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans))
    assert not any(folder.exists() for folder in folders)


@pytest.mark.parametrize(
    ("wall", "cpu", "others", "lost", "disturbed"),
    [
        (10.0, 9.9, 0.05, 0.05, False),  # waited for a disk, mostly
        (10.0, 9.0, 0.9, 0.9, True),
        (10.0, 9.99, 3.0, 0.01, False),  # others ran while the child waited for nothing
        (10.0, 9.0, -0.3, 0.0, False),
        (10.0, 9.0, None, 1.0, True),  # a system that does not tell
        (0.3, 0.29, 0.01, 0.01, False),  # finer than the clock
        (10.0, 19.0, 0.5, 0.0, False),
    ],
)
def test_a_run_that_loses_more_than_two_percent_to_others_is_marked(
    tmp_path: Path, wall: float, cpu: float, others: float | None, lost: float, disturbed: bool
) -> None:
    child = FinishedChild(job(""), tmp_path, 0, False, wall, cpu, 1, others)
    assert child.lost_seconds == pytest.approx(lost)
    assert child.disturbed is disturbed


def test_the_busy_time_of_a_core_leaves_out_idle_and_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = tmp_path / "stat"
    statistics.write_text("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 1 1 1 1 1 1 1 0 0\ncpu1 100 20 3 5000 600 7 8 9 50 0\n")
    monkeypatch.setattr(machine, "CPU_STATISTICS", statistics)
    assert machine.busy_seconds(1) == pytest.approx((100 + 20 + 3 + 7 + 8 + 9) / os.sysconf("SC_CLK_TCK"))
    assert machine.busy_seconds(2) is None
    statistics.unlink()
    assert machine.busy_seconds(1) is None


def second(core: Core) -> Core:
    """The same core once more, so that two children share it."""
    return Core(core.number, os.fdopen(os.dup(core.lock.fileno()), "a"))


def test_a_child_beside_a_busy_process_on_its_core_loses_time(cores: list[Core]) -> None:
    code = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    doubled = [*cores, second(cores[0])]
    finished = list(run_jobs([job(code), job(code)], doubled))
    release(doubled[1:])
    assert any(child.others_seconds is None or child.disturbed for child in finished)


def test_closing_the_iterator_kills_what_runs(cores: list[Core], tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    endless = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    jobs = [job("print('done')"), job(endless)]
    doubled = [*cores, second(cores[0])]
    runs = run_jobs(jobs, doubled)
    next(runs)
    deadline = time.monotonic() + 30
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    runs.close()
    release(doubled[1:])
    wait_until_gone(int(pid_file.read_text()))


def test_a_core_belongs_to_one_benchmark_at_a_time(cores: list[Core], tmp_path: Path) -> None:
    free = os.sched_getaffinity(0) - {cores[0].number}
    assert free_cores_of_another_process(tmp_path) == (free or "taken by another benchmark")
    taken = [free_cores(1) for _ in free]
    with pytest.raises(InputError, match="taken by another benchmark"):
        free_cores(1)
    for one in taken:
        release(one)
    assert free_cores_of_another_process(tmp_path) == (free or "taken by another benchmark")
    release(cores)
    assert free_cores_of_another_process(tmp_path) == free | {cores[0].number}
    cores[:] = free_cores(1)


def free_cores_of_another_process(locks: Path) -> set[int] | str:
    """The cores that a second benchmark would get, or why it gets none."""
    code = "from oclgen.bench.runner import free_cores\nprint(*[core.number for core in free_cores(None)])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(locks)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        assert "taken by another benchmark" in done.stderr
        return "taken by another benchmark"
    return {int(number) for number in done.stdout.split()}


def test_a_child_keeps_its_core_even_if_the_benchmark_is_gone(cores: list[Core]) -> None:
    """The lock is handed down, so that an orphan's core is not given away while it still runs."""
    code = f"import os; print(os.fstat({cores[0].lock.fileno()}).st_ino)"
    _, text = run_one(cores, code)
    assert int(text) == os.fstat(cores[0].lock.fileno()).st_ino


def wait_until_gone(pid: int) -> None:
    """A killed grandchild is collected by init, which may take a moment."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} is still there")
