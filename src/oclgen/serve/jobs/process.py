"""One child process of the server: started, listened to, held to its limits, and always collected.

The child enforces its limits itself and keeps its best plan; what is here is the second line, for a child that hangs in
native code, floods its output or was killed from outside.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import oclgen
from oclgen.serve.settings import TOKEN_VARIABLE

OVERRUN_SECONDS = 0.15
"""How long after its limit a child is killed."""
CANCEL_SECONDS = 1.0
"""How long a cancelled child may take to hand over its best plan."""
ADDRESS_SPACE_RESERVE = 2 << 30
"""Virtual memory beyond the limit: libraries map far more than they use. The child itself counts resident memory."""
ERROR_BYTES = 1 << 16
CHUNK = 1 << 16


def command(memory: int, verb: str, *arguments: str, models: Sequence[Path] = ()) -> list[str]:
    worker = [sys.executable, "-P", "-m", "oclgen.serve.jobs.worker"]
    limit, known = str(memory + ADDRESS_SPACE_RESERVE), json.dumps([str(folder) for folder in models])
    return [*worker, str(os.getpid()), limit, known, verb, *arguments]


def environment(folder: Path) -> dict[str, str]:
    """Ours without the token; temporary files go to the job's folder and vanish with it."""
    kept = {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
    source = str(Path(oclgen.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (source, kept.get("PYTHONPATH"))))
    return {**kept, "PYTHONPATH": path, "TMPDIR": str(folder), "OMP_NUM_THREADS": "1"}


class Child:
    """A running child and what it said on standard error."""

    def __init__(self, process: asyncio.subprocess.Process, deadline: float, output_bytes: int) -> None:
        self.process = process
        self.deadline = deadline
        self.output_bytes = output_bytes
        self.errors = b""
        self.killed = ""
        """Why we killed it, if we did."""

    @classmethod
    async def start(cls, folder: Path, arguments: list[str], seconds: float, output_bytes: int) -> "Child":
        deadline = time.monotonic() + seconds + OVERRUN_SECONDS  # starting takes its part of the time, too
        process = await asyncio.create_subprocess_exec(
            *arguments,
            cwd=folder,
            env=environment(folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        return cls(process, deadline, output_bytes)

    async def output(self) -> AsyncIterator[bytes]:
        """Standard output in pieces, until the child has ended or had to be killed."""
        errors = asyncio.create_task(self._read_errors())
        try:
            async for piece in self._pieces():
                yield piece
            await self._wait()
        finally:
            self.kill()
            await self._collect(errors)

    async def _pieces(self) -> AsyncIterator[bytes]:
        assert self.process.stdout is not None
        left = self.output_bytes
        while left > 0:
            try:
                async with asyncio.timeout(self._seconds_left()):
                    piece = await self.process.stdout.read(min(CHUNK, left))
            except TimeoutError:
                self.kill("time")
                return
            if not piece:
                return
            left -= len(piece)
            yield piece
        self.kill("output")

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._seconds_left()):
                await self.process.wait()
        except TimeoutError:
            self.kill("time")

    async def _collect(self, errors: asyncio.Task[None]) -> None:
        """Empty the pipes, which asyncio wants before it tells that a process has ended, and wait for the end."""
        assert self.process.stdout is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                while await self.process.stdout.read(CHUNK):
                    pass
                await errors
        errors.cancel()
        await self.process.wait()

    def _seconds_left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while piece := await self.process.stderr.read(CHUNK):
            self.errors = (self.errors + piece)[-ERROR_BYTES:]

    def terminate(self) -> None:
        """Ask it to end with what it has; it is killed when it does not."""
        self.deadline = min(self.deadline, time.monotonic() + CANCEL_SECONDS)
        self._signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(CANCEL_SECONDS, self.kill, "cancelled")

    def kill(self, reason: str = "") -> None:
        if self.process.returncode is None:
            self.killed = self.killed or reason
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)
