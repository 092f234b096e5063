"""Jobs and plans in SQLite: a restart loses no finished job and tells of those it interrupted.

The connection locks the file for as long as the server lives, so two servers cannot share a folder. All calls come
from the event loop's thread and take well under a millisecond, but for texts of many megabytes.
"""

import sqlite3
import time
from dataclasses import asdict, fields
from pathlib import Path

from oclgen.errors import InputError
from oclgen.serve.jobs.job import FoundPlan, Job, Status

SCHEMA = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, method TEXT, time_limit REAL, seed INTEGER, created REAL, status TEXT, started REAL,
    finished REAL, message TEXT, optimal INTEGER, exit_code INTEGER, output TEXT,
    domain TEXT, problem TEXT, bytes INTEGER, picture TEXT, chosen INTEGER
);
CREATE INDEX IF NOT EXISTS jobs_by_age ON jobs (created);
CREATE TABLE IF NOT EXISTS plans (
    job TEXT REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER, seconds REAL, length INTEGER, text TEXT,
    PRIMARY KEY (job, number)
) WITHOUT ROWID;
"""
COLUMNS = ", ".join(field.name for field in fields(Job))
INTERRUPTED = "The server stopped while this job was waiting or running; plans found before that are kept."


class Store:
    """The jobs of one server."""

    def __init__(self, path: Path) -> None:
        try:
            self.connection = sqlite3.connect(path, timeout=0.5, isolation_level=None, check_same_thread=False)
            self.connection.executescript(SCHEMA)
            self.connection.execute("BEGIN IMMEDIATE")  # takes the lock
            self._complete_columns()
            self.connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise InputError(f"{path}: cannot be used ({error}); is another server using this folder?") from None
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path}: not a database of this server: {error}") from None

    def _complete_columns(self) -> None:
        """In a database without the column `chosen` all jobs named their method."""
        if all(name != "chosen" for _, name, *_ in self.connection.execute("PRAGMA table_info(jobs)")):
            self.connection.execute("ALTER TABLE jobs ADD COLUMN chosen INTEGER DEFAULT 0")

    def close(self) -> None:
        self.connection.close()

    def add(self, job: Job, domain: str, problem: str) -> None:
        values = {**asdict(job), "domain": domain, "problem": problem, "bytes": len(domain) + len(problem)}
        names = ", ".join(values)
        self.connection.execute(
            f"INSERT INTO jobs ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())
        )

    def update(self, job: Job) -> None:
        values = asdict(job)
        changes = ", ".join(f"{name} = :{name}" for name in values)
        self.connection.execute(f"UPDATE jobs SET {changes} WHERE id = :id", values)

    def job(self, identifier: str) -> Job | None:
        row = self.connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE id = ?", (identifier,)).fetchone()
        if row is None:
            return None
        values = dict(zip((field.name for field in fields(Job)), row, strict=True))
        truths = {name: bool(values[name]) for name in ("optimal", "chosen")}
        return Job(**{**values, **truths, "status": Status(values["status"])})

    def texts(self, identifier: str) -> tuple[str, str]:
        """The domain and the problem."""
        row: tuple[str, str] = self.connection.execute(
            "SELECT domain, problem FROM jobs WHERE id = ?", (identifier,)
        ).fetchone()
        return row

    def add_plan(self, identifier: str, plan: FoundPlan) -> None:
        """Note an improvement; of earlier plans only second and length stay, so that a job's size is bounded."""
        self.connection.execute("UPDATE plans SET text = '' WHERE job = ? AND number < ?", (identifier, plan.number))
        self.connection.execute(
            "INSERT INTO plans VALUES (?, ?, ?, ?, ?)",
            (identifier, plan.number, plan.seconds, plan.length, plan.text),
        )

    def plans(self, identifier: str, after: int = 0) -> list[FoundPlan]:
        rows = self.connection.execute(
            "SELECT number, seconds, length, text FROM plans WHERE job = ? AND number > ? ORDER BY number",
            (identifier, after),
        )
        return [FoundPlan(*row) for row in rows]

    def best(self, identifier: str) -> FoundPlan | None:
        row = self.connection.execute(
            "SELECT number, seconds, length, text FROM plans WHERE job = ? ORDER BY number DESC LIMIT 1", (identifier,)
        ).fetchone()
        return None if row is None else FoundPlan(*row)

    def picture(self, identifier: str) -> str | None:
        """The drawn plan as JSON, if it has been drawn before."""
        row = self.connection.execute("SELECT picture FROM jobs WHERE id = ?", (identifier,)).fetchone()
        return None if row is None else row[0]

    def keep_picture(self, identifier: str, picture: str) -> None:
        self.connection.execute(
            "UPDATE jobs SET picture = ?, bytes = bytes + ? WHERE id = ?", (picture, len(picture), identifier)
        )

    def interrupt_unfinished(self) -> None:
        """Say of jobs that a server left behind that they will not end."""
        self.connection.execute(
            "UPDATE jobs SET status = ?, message = ?, finished = ? WHERE status IN (?, ?)",
            (Status.INTERRUPTED, INTERRUPTED, time.time(), Status.QUEUED, Status.RUNNING),
        )

    def prune(self, keep_seconds: float, keep_jobs: int, keep_bytes: int) -> None:
        """Forget finished jobs: the old ones, and the oldest of too many or too large ones."""
        self.connection.execute(
            "DELETE FROM jobs WHERE finished IS NOT NULL AND (created < ? OR id IN ("
            " SELECT id FROM (SELECT id, ROW_NUMBER() OVER newest AS place, SUM(bytes) OVER newest AS total FROM jobs"
            " WINDOW newest AS (ORDER BY created DESC, id)) WHERE place > ? OR total > ?))",
            (time.time() - keep_seconds, keep_jobs, keep_bytes),
        )
