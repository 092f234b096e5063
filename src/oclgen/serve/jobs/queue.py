"""The queue and the running jobs: how many at once, in what order, how each ended.

What is known of a job is in the store; here are only the order of those that wait, the processes of those that run, and
the bells that wake who watches them.
"""

import asyncio
import json
import re
import shutil
import time
import uuid
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oclgen.errors import ExitCode, InputError
from oclgen.serve.jobs.job import FoundPlan, Job, Status
from oclgen.serve.jobs.process import Child, command
from oclgen.serve.jobs.store import INTERRUPTED, Store
from oclgen.serve.settings import ServeSettings

IMPROVEMENT = re.compile(rb"^\[t=([0-9.]+)s.*\bPlan length: \d+ step")
OUTPUT_BYTES = 4 << 20
KEPT_OUTPUT = 1 << 20
PLAN_BYTES = 4 << 20
PLAN_FILE, RECORD_FILE = "sas_plan", "record.json"


class Busy(Exception):
    """The queue is full; come again later."""


@dataclass(slots=True, eq=False)
class Live:
    """A job that waits or runs."""

    id: str
    child: Child | None = None
    cancelled: bool = False
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    def ring(self) -> None:
        """Wake everybody who waits for news of this job."""
        self.bell.set()
        self.bell = asyncio.Event()


class Jobs:
    """All jobs of one server."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.work = settings.data / "jobs"
        try:
            settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.store = Store(settings.data / "jobs.sqlite3")
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir()
        except OSError as error:
            raise InputError(f"{settings.data}: cannot keep jobs there: {error.strerror}") from None
        self.store.interrupt_unfinished()
        self.prune()
        self.waiting: deque[Live] = deque()
        self.live: dict[str, Live] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.closing = False

    def submit(
        self, domain: str, problem: str, method: str | None = None, time_limit: float | None = None, seed: int = 0
    ) -> Job:
        """Put a job into the queue; a limit beyond the server's longest is shortened to it."""
        if self.closing or (len(self.tasks) >= self.settings.workers and len(self.waiting) >= self.settings.queue):
            raise Busy
        seconds = min(time_limit or self.settings.time_limit, self.settings.longest_time_limit)
        job = Job(
            id=uuid.uuid4().hex,
            method=method,
            chosen=method is None,
            time_limit=seconds,
            seed=seed,
            created=time.time(),
        )
        self.store.add(job, domain, problem)
        self.live[job.id] = live = Live(job.id)
        self.waiting.append(live)
        self._start_waiting()
        return self.store.job(job.id) or job

    def position(self, identifier: str) -> int | None:
        """How many jobs are before this one, if it waits."""
        return next((place for place, live in enumerate(self.waiting) if live.id == identifier), None)

    def cancel(self, identifier: str) -> None:
        """End a job with what it has found; of one that has ended there is nothing to cancel."""
        live = self.live.get(identifier)
        if live is None or live.cancelled:
            return
        live.cancelled = True
        if live in self.waiting:
            self.waiting.remove(live)
            self._end(live, Status.CANCELLED, "Cancelled before it began.")
        elif live.child is not None:
            live.child.terminate()

    def bell(self, identifier: str) -> asyncio.Event | None:
        """What rings at the job's next change: take it, then look at the job, then wait; None once it has ended."""
        live = self.live.get(identifier)
        return None if live is None else live.bell

    async def close(self) -> None:
        """Kill what runs and say so."""
        self.closing = True
        for live in list(self.live.values()):
            if live.child is not None:
                live.child.kill("shutdown")
        for live in list(self.waiting):
            self._end(live, Status.INTERRUPTED, INTERRUPTED)
        self.waiting.clear()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.store.close()

    def prune(self) -> None:
        settings = self.settings
        self.store.prune(settings.keep_seconds, settings.keep_jobs, settings.keep_bytes)

    def _start_waiting(self) -> None:
        while self.waiting and len(self.tasks) < self.settings.workers and not self.closing:
            live = self.waiting.popleft()
            task = asyncio.create_task(self._run(live))
            self.tasks.add(task)
            task.add_done_callback(self._ended)
            self._update(live, status=Status.RUNNING, started=time.time())
        for live in self.waiting:
            live.ring()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._start_waiting()

    async def _run(self, live: Live) -> None:
        folder = self.work / live.id
        try:
            folder.mkdir()
            await self._solve(live, folder)
        except Exception as error:  # whatever happens, the job must not look as if it were still running
            self._end(live, Status.FAILED, f"The server could not run this job: {type(error).__name__}: {error}")
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _solve(self, live: Live, folder: Path) -> None:
        job = self.store.job(live.id)
        assert job is not None
        for name, text in zip(("domain.pddl", "problem.pddl"), self.store.texts(live.id), strict=True):
            (folder / name).write_text(text, encoding="utf-8", newline="")
        arguments = command(self.settings.memory_limit, *self._arguments(job), models=self.settings.models)
        live.child = child = await Child.start(folder, arguments, job.time_limit, OUTPUT_BYTES)
        if live.cancelled:
            child.terminate()
        output = await self._listen(live, child, folder)
        record = await asyncio.to_thread(read_record, folder / RECORD_FILE)
        ending = record.get("ending")
        status, message = outcome(child, ending, self.store.best(live.id) is not None)
        if live.cancelled and status is not Status.INTERRUPTED:
            status, message = Status.CANCELLED, "Cancelled; plans found before that are kept."
        self._end(
            live,
            status,
            message,
            method=record.get("method", job.method),
            optimal=status is Status.SOLVED and ending == "exhausted",
            exit_code=child.process.returncode,
            output=output.decode(errors="replace"),
        )

    def _arguments(self, job: Job) -> list[str]:
        """Names are ours, numbers are numbers, and the method is one of a list: nothing of a request comes here."""
        return [
            *("solve", "domain.pddl", "problem.pddl"),
            *(() if job.method is None else ("--method", job.method)),
            *("--overall-time-limit", f"{job.time_limit:f}s"),
            *("--overall-memory-limit", f"{self.settings.memory_limit >> 20}M"),
            *("--random-seed", str(job.seed), "--threads", "1", "--plan-file", PLAN_FILE, "--json", RECORD_FILE),
        ]

    async def _listen(self, live: Live, child: Child, folder: Path) -> bytes:
        """Note each plan when the child tells of it; return what it printed."""
        output, line, told = b"", b"", 0
        async for piece in child.output():
            output = (output + piece)[-KEPT_OUTPUT:]
            *lines, line = (line + piece).split(b"\n")
            for each in lines:
                match = IMPROVEMENT.match(each)
                if match is not None:
                    told += 1
                    numbered = folder / f"{PLAN_FILE}.{told}"
                    path = numbered if numbered.exists() else folder / PLAN_FILE
                    self._note_plan(live, child, path, float(match[1]))
        return output

    def _note_plan(self, live: Live, child: Child, path: Path, seconds: float) -> None:
        if path.stat().st_size > PLAN_BYTES:
            child.kill("plan")
            return
        text = path.read_text(encoding="utf-8")
        length = sum(line.startswith("(") for line in text.splitlines())
        best = self.store.best(live.id)
        if best is None or length < best.length:
            number = 1 if best is None else best.number + 1
            self.store.add_plan(live.id, FoundPlan(number, round(seconds, 3), length, text))
            live.ring()

    def _update(self, live: Live, **changes: Any) -> None:
        job = self.store.job(live.id)
        assert job is not None
        self.store.update(replace(job, **changes))
        live.ring()

    def _end(self, live: Live, status: Status, message: str, **more: Any) -> None:
        del self.live[live.id]
        self._update(live, status=status, message=message, finished=time.time(), **more)
        self.prune()


async def rung(bell: asyncio.Event | None, seconds: float) -> None:
    """Wait for a bell, but not for ever."""
    if bell is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await bell.wait()


def read_record(path: Path) -> dict[str, Any]:
    """The planner's own record: why the search ended, which method it was; empty where it wrote none."""
    try:
        record: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return record


ENDINGS = {
    "completed": "This method stops at its first plan.",
    "exhausted": "Proved: no plan is shorter.",
    "incomplete": "Nothing left to try.",
    "time": "The time limit was reached.",
    "memory": "The memory limit was reached.",
    "interrupted": "The search was interrupted.",
}
KILLED = {
    "time": "The time limit was reached.",
    "output": "The planner printed more than the server takes.",
    "plan": "The plan is larger than the server takes.",
}


def outcome(child: Child, ending: str | None, found: bool) -> tuple[Status, str]:
    """What became of a job, and why in one sentence."""
    code = child.process.returncode
    if child.killed == "shutdown":
        return Status.INTERRUPTED, INTERRUPTED
    message = KILLED.get(child.killed) or ENDINGS.get(ending or "") or complaint(child)
    if found:
        return Status.SOLVED, message
    if code == ExitCode.UNSOLVABLE:
        return Status.UNSOLVABLE, "Proved: the problem has no plan."
    if child.killed == "time" or code in range(ExitCode.UNSOLVABLE, ExitCode.OUT_OF_MEMORY_AND_TIME + 1):
        return Status.UNSOLVED, message
    return Status.FAILED, message


def complaint(child: Child) -> str:
    """The child's last line on standard error, or how it died."""
    lines = child.errors.decode(errors="replace").strip().splitlines()
    code = child.process.returncode
    if code is not None and code < 0:
        return f"The planner's process was killed (signal {-code})."
    return lines[-1].removeprefix("oclgen: ")[:2000] if lines else f"The planner ended with exit code {code}."
