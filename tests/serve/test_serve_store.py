"""What a restart finds."""

from dataclasses import replace
from pathlib import Path

import pytest

from oclgen.errors import InputError
from oclgen.serve.jobs.job import FoundPlan, Job, Status
from oclgen.serve.jobs.queue import Jobs
from oclgen.serve.jobs.store import Store
from oclgen.serve.settings import ServeSettings


def job(name: str, created: float = 1e12, **more: object) -> Job:
    return replace(Job(id=name, method="oclgen", time_limit=1, seed=0, created=created), **more)  # type: ignore[arg-type]


def names(store: Store, *wanted: str) -> list[str]:
    return [name for name in wanted if store.job(name) is not None]


def test_a_restart_keeps_finished_jobs_and_calls_running_ones_interrupted(tmp_path: Path) -> None:
    settings = ServeSettings(data=tmp_path)
    store = Jobs(settings).store
    store.add(job("done", status=Status.SOLVED, finished=1e12), "d", "p")
    store.add(job("running", status=Status.RUNNING), "d", "p")
    store.add_plan("running", FoundPlan(1, 0.5, 3, "(a)\n"))
    store.close()
    again = Jobs(settings).store
    assert again.job("done") == job("done", status=Status.SOLVED, finished=1e12)
    interrupted = again.job("running")
    assert interrupted is not None
    assert interrupted.status is Status.INTERRUPTED
    assert "stopped" in interrupted.message
    assert again.best("running") == FoundPlan(1, 0.5, 3, "(a)\n")
    again.close()


def test_jobs_of_a_database_without_chosen_methods_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.sqlite3")
    store.add(job("old", status=Status.SOLVED, finished=1e12), "d", "p")
    store.connection.execute("ALTER TABLE jobs DROP COLUMN chosen")
    store.close()
    again = Store(tmp_path / "jobs.sqlite3")
    assert again.job("old") == job("old", status=Status.SOLVED, finished=1e12)
    again.add(job("new", method=None, chosen=True), "d", "p")
    assert again.job("new") == job("new", method=None, chosen=True)
    again.close()


def test_two_servers_cannot_share_a_folder(tmp_path: Path) -> None:
    store = Jobs(ServeSettings(data=tmp_path)).store
    with pytest.raises(InputError, match="another server"):
        Jobs(ServeSettings(data=tmp_path))
    store.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs.sqlite3").write_text("something else, and long enough to be read as a header" * 40)
    with pytest.raises(InputError, match="not a database"):
        Jobs(ServeSettings(data=tmp_path))


def test_old_superfluous_and_large_jobs_are_forgotten_but_never_running_ones(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.sqlite3")
    store.add(job("old", created=1.0, finished=1.0), "d", "p")
    store.add(job("running", created=1.0), "d", "p")
    for number in range(4):
        store.add(job(f"new{number}", created=1e12 + number, finished=1e12), "d", "p" * 99)
    store.add_plan("new0", FoundPlan(1, 0.5, 3, "(a)\n"))
    store.prune(keep_seconds=1e6, keep_jobs=100, keep_bytes=10_000)
    assert names(store, "old", "running", "new0") == ["running", "new0"]
    store.prune(keep_seconds=1e6, keep_jobs=3, keep_bytes=10_000)
    assert names(store, "new0", "new1", "running") == ["new1", "running"]
    assert store.plans("new0") == []
    store.prune(keep_seconds=1e6, keep_jobs=3, keep_bytes=200)
    assert names(store, "new1", "new2", "new3", "running") == ["new2", "new3", "running"]
    store.close()


def test_of_superseded_plans_only_length_and_second_stay(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.sqlite3")
    store.add(job("a"), "d", "p")
    store.add_plan("a", FoundPlan(1, 0.5, 3, "long"))
    store.add_plan("a", FoundPlan(2, 0.7, 2, "short"))
    assert store.plans("a") == [FoundPlan(1, 0.5, 3, ""), FoundPlan(2, 0.7, 2, "short")]
    assert store.plans("a", after=1) == [FoundPlan(2, 0.7, 2, "short")]
    store.close()
