import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from oclgen.cli import run as run_cli
from oclgen.data import collect as collect_module
from oclgen.data import dataset
from oclgen.data.collect import Tally, collect, decide_all, split_sizes
from oclgen.data.dataset import Row
from oclgen.data.problems import Problems, problems
from oclgen.data.teacher import TeacherJob, TeacherResult, TeacherSettings
from oclgen.domains import catalog
from oclgen.errors import InputError, OclgenError, PddlError
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan

TINY = ("blocks=3..5",)


def make(
    folder: Path, source: Problems | None = None, teacher: TeacherSettings | None = None, count: int = 10, **sizes: int
) -> Tally:
    source = source or problems("blocksworld", 1, TINY)
    settings: dict[str, Any] = {"val": 2, "test": 3, "seed": 1, "workers": 1, **sizes}
    *_, tally = collect(source, folder, teacher or TeacherSettings(), count=count, **settings)
    return tally


def by_id(folder: Path) -> dict[int, tuple[str, str, str, str]]:
    rows = list(dataset.open_dataset(folder).rows())
    assert len({row.id for row in rows}) == len(rows)
    assert len({row.fingerprint for row in rows}) == len(rows)
    return {row.id: (row.split, row.problem, row.fingerprint, row.plan) for row in rows}


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten problems made in one go."""
    folder = tmp_path_factory.mktemp("ten")
    make(folder)
    return folder


def test_every_stored_plan_is_valid_and_counted(ten: Path) -> None:
    stored = dataset.open_dataset(ten)
    assert [stored.count(split) for split in ("test", "val", "train", "failed")] == [3, 2, 5, 0]
    for row in stored.rows():
        plan = parse_plan(row.plan, row.name)
        assert validate(stored.domain_text, row.problem, plan).valid
        assert len(plan) == row.length


def test_raising_the_count_extends_and_keeps_every_row(ten: Path, tmp_path: Path) -> None:
    make(tmp_path, count=6)
    tally = make(tmp_path, count=10)
    assert sum(tally.rows.values()) == 4
    assert by_id(tmp_path) == by_id(ten)
    assert sum(make(tmp_path, count=10).rows.values()) == 0


def test_a_search_with_a_model_can_teach(tmp_path: Path) -> None:
    make(tmp_path, teacher=TeacherSettings("oclgen", 1.0), count=6)
    stored = dataset.open_dataset(tmp_path)
    solved = [row for row in stored.rows() if row.length >= 0]
    assert stored.recipe["teacher"] == "oclgen" and len(solved) == 6
    assert all(validate(stored.domain_text, row.problem, parse_plan(row.plan, row.name)).valid for row in solved)


def test_a_search_without_a_model_is_refused_before_the_first_problem(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such model folder"):
        make(tmp_path / "data", teacher=TeacherSettings("oclgen", 1.0, model=str(tmp_path / "nowhere")))
    assert not (tmp_path / "data").exists()


def test_a_distribution_that_is_exhausted_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oclgen.support.distinct.PATIENCE", 20)
    source = problems("blocksworld", 1, ("blocks=2",))
    tally = make(tmp_path, source, TeacherSettings(), count=1000)
    assert 0 < tally.solved == tally.done < 10 < tally.total


def test_a_teacher_that_solves_next_to_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect_module, "MOST_FAILURES", 2)
    with pytest.raises(OclgenError, match="lama-first solved only 0 of 3 problems"):
        make(tmp_path, teacher=TeacherSettings(time_limit=0.0), count=2)
    rows = list(dataset.open_dataset(tmp_path).rows("failed"))
    assert [(row.plan, row.length, row.outcome) for row in rows] == [("", -1, "time")] * 3


def fails_on(*numbers: int) -> Callable[[TeacherJob], TeacherResult]:
    """A teacher that has a plan for all problems but these."""

    def teacher(job: TeacherJob) -> TeacherResult:
        number = job.problem.index
        solved = number not in numbers
        split, length = ("undecided", 1) if solved else ("failed", -1)
        name, text = job.problem.name, job.problem.text
        row = Row(number, split, name, text, job.fingerprint, "", length, "", 0.0, "toy", "{}", job.seed, "{}")
        return TeacherResult(row, 0, 0.0, 0.0)

    return teacher


def shuffled(function: Callable[[Any], Any], jobs: Iterable[Any], workers: int) -> Iterator[Any]:
    """Several workers whose results come out of order: of all jobs at hand the last is finished first."""
    waiting: deque[Any] = deque()
    source = iter(jobs)
    while True:
        waiting.extend(islice(source, workers - len(waiting)))
        if not waiting:
            return
        yield function(waiting.pop() if len(waiting) % 2 else waiting.popleft())


def splits(folder: Path) -> dict[int, str]:
    return {row.id: row.split for row in dataset.open_dataset(folder).rows()}


ORDER = ("test", "failed", "test", "test", "failed", "val", "val", "train", "train", "failed", "train")
EXPECTED = dict(enumerate(ORDER))
"""Eight solved problems, three for testing and two for validation, of a teacher that fails on 1, 4 and 9."""


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect_module, "run_teacher", fails_on(1, 4, 9))
    monkeypatch.setattr(collect_module, "run_unordered", shuffled)


@pytest.mark.parametrize("workers", [1, 2, 4, 7])
def test_other_problems_replace_those_that_the_teacher_fails_on(tmp_path: Path, scripted: None, workers: int) -> None:
    tally = make(tmp_path, count=8, workers=workers)
    assert splits(tmp_path) == EXPECTED
    assert (tally.total, tally.done, tally.solved, tally.failed) == (8, 8, 8, 3)
    assert tally.rows == {"test": 3, "val": 2, "train": 3, "failed": 3}


@pytest.mark.parametrize("finished", range(11))
def test_a_stopped_run_goes_on_to_the_same_splits(tmp_path: Path, scripted: None, finished: int) -> None:
    source = problems("blocksworld", 1, TINY)
    run = collect(source, tmp_path, TeacherSettings(), count=8, val=2, test=3, seed=1, workers=4)
    for _ in islice(run, finished):
        pass
    run.close()
    make(tmp_path, count=8, workers=3)
    assert splits(tmp_path) == EXPECTED


def test_raising_the_count_keeps_the_splits(tmp_path: Path, scripted: None) -> None:
    make(tmp_path, count=2, workers=3)
    make(tmp_path, count=8, workers=3)
    assert splits(tmp_path) == EXPECTED


def test_a_row_has_no_split_before_all_earlier_problems_are_known(tmp_path: Path, scripted: None) -> None:
    source = problems("blocksworld", 1, TINY)
    run = collect(source, tmp_path, TeacherSettings(), count=8, val=2, test=3, seed=1, workers=3)
    for _ in islice(run, 3):
        pass
    run.close()
    seen = splits(tmp_path)
    decide_all(tmp_path)
    assert (seen, splits(tmp_path)) == ({}, {2: "test", 3: "test"})


@pytest.mark.slow
def test_a_killed_run_resumes_without_loss_and_without_doubles(ten: Path, tmp_path: Path) -> None:
    """Two real workers, killed with their parent in the middle; then the same command runs to the end."""
    command = [sys.executable, "-m", "oclgen", "data", "blocksworld", "--out", str(tmp_path), "--count", "10"]
    command += ["--val", "2", "--test", "3", "--random-seed", "1", "--workers", "2", "--set", TINY[0]]
    journal = tmp_path / "journal.jsonl"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    finished = journal.read_bytes().count(b"\n")
    assert process.returncode == -signal.SIGKILL and finished >= 3
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "10 problems" in done.stdout
    assert by_id(tmp_path) == by_id(ten)
    assert not list((tmp_path / "scratch").iterdir())


def test_a_run_that_is_told_to_end_leaves_its_rows_where_readers_find_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "oclgen", "data", "blocksworld", "--out", str(tmp_path), "--count", "500"]
    journal = tmp_path / "journal.jsonl"
    with subprocess.Popen([*command, "--workers", "1", "--set", TINY[0]], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
            time.sleep(0.02)
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM
    assert len(list(dataset.open_dataset(tmp_path).rows())) >= 3 and not journal.read_bytes()


@pytest.fixture
def own_folder(tmp_path: Path, ten: Path) -> Path:
    """A user's folder: three problems, one of them twice under other names, one with its plan."""
    rows: list[Row] = list(dataset.open_dataset(ten).rows("train"))[:2]
    folder = tmp_path / "mine"
    (folder / "training").mkdir(parents=True)
    (folder / "training_plans").mkdir()
    (folder / "domain.pddl").write_text(dataset.open_dataset(ten).domain_text)
    (folder / "training" / "first.pddl").write_text(rows[0].problem)
    (folder / "training" / "again.pddl").write_text(rows[0].problem.replace("b1", "zz"))
    (folder / "training" / "second.pddl").write_text(rows[1].problem)
    (folder / "training_plans" / "second.plan").write_text(rows[1].plan)
    return folder


def test_a_users_folder_gives_its_distinct_problems_and_plans(own_folder: Path, tmp_path: Path) -> None:
    for _ in range(2):
        tally = make(tmp_path / "out", problems(str(own_folder), 0, ()), val=0, test=0)
        assert (tally.done, tally.total, tally.repeated) == (3, 3, 1)
    rows = {row.name: row for row in dataset.open_dataset(tmp_path / "out").rows()}
    assert len(rows) == 2 and rows["second"].teacher == "given"
    assert all(row.length >= 0 for row in rows.values())


def test_a_given_plan_that_is_not_valid_is_refused_by_name(own_folder: Path, tmp_path: Path) -> None:
    (own_folder / "training_plans" / "second.plan").write_text("; by hand\n(pickup b1)\n(pickup b1)\n")
    with pytest.raises(PddlError, match=r"second\.plan:2: not a plan for second"):
        make(tmp_path / "out", problems(str(own_folder), 0, ()))


def test_a_broken_problem_in_a_users_folder_is_named(own_folder: Path, tmp_path: Path) -> None:
    (own_folder / "training" / "second.pddl").write_text("(define (problem p)")
    with pytest.raises(PddlError, match=r"second\.pddl:1"):
        make(tmp_path / "out", problems(str(own_folder), 0, ()))


def test_a_users_folder_without_problems_says_where_they_belong(own_folder: Path) -> None:
    shutil.rmtree(own_folder / "training")
    with pytest.raises(InputError, match=r"mine/training: no such folder; put problems \(\.pddl files\) into it"):
        problems(str(own_folder), 0, ())


def test_ranges_make_no_sense_for_a_users_folder(own_folder: Path) -> None:
    with pytest.raises(InputError, match="given, not drawn"):
        problems(str(own_folder), 0, TINY)


def test_a_users_folder_is_divided_by_the_number_of_its_problems(
    tmp_path: Path, scripted: None, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    (folder / "training").mkdir(parents=True)
    spec = catalog.load("blocksworld")
    (folder / "domain.pddl").write_text(spec.domain_text)
    for number in range(40):
        drawn = catalog.draw(spec, 2, number, catalog.overrides(spec, ["blocks=6"]))
        (folder / "training" / f"p{number}.pddl").write_text(drawn.text)
    assert run_cli(["data", str(folder), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    stored = dataset.open_dataset(tmp_path / "out")
    assert [stored.count(split) for split in ("test", "val", "train", "failed")] == [2, 2, 33, 3]
    *_, tally = collect(
        problems(str(folder), 0, ()), tmp_path / "out", TeacherSettings(), count=1000, val=2, test=2, seed=0, workers=1
    )
    assert (tally.done, tally.total) == (40, 40)


def test_split_sizes_default_to_those_of_the_folder(ten: Path, tmp_path: Path) -> None:
    assert split_sizes(tmp_path, 1000, None, None) == (50, 50)
    assert split_sizes(tmp_path, 10**6, None, 7) == (1000, 7)
    assert split_sizes(ten, 1000, None, None) == (2, 3)


def test_processor_time_is_divided_between_us_and_the_teacher(tmp_path: Path) -> None:
    tally = make(tmp_path, count=2, workers=2)
    assert 0 < tally.own_share < 1
    assert tally.teacher_seconds > 0 and tally.worker_seconds > 0


def test_teachers_leave_no_files(ten: Path) -> None:
    assert not list((ten / "scratch").iterdir())
