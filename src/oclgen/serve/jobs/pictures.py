"""Pictures of plans on demand: drawn by a child, one at a time, and kept with the job."""

import asyncio
import json
import shutil
import uuid
from pathlib import Path
from typing import Any

from oclgen.serve.jobs.process import Child, command
from oclgen.serve.jobs.queue import Busy, Jobs

SECONDS = 30.0
LONGEST_LINE = 8
PICTURE_BYTES = 8 << 20
MEMORY = 1 << 30
FAILED = {"refusal": "The plan could not be drawn."}


class Pictures:
    """Draws, and lets only a few wait."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.turn = asyncio.Lock()
        self.waiting = 0
        self.drawing: asyncio.Task[str | None] | None = None

    async def drawn(self, identifier: str, plan: str) -> dict[str, Any]:
        if self.jobs.closing or self.waiting >= LONGEST_LINE:
            raise Busy
        self.waiting += 1
        try:
            async with self.turn:
                text = self.jobs.store.picture(identifier) or await self._draw_and_keep(identifier, plan)
        finally:
            self.waiting -= 1
        picture: dict[str, Any] = FAILED if text is None else json.loads(text)
        return picture

    async def close(self) -> None:
        """Kill what draws, and wait for its end."""
        if self.drawing is not None:
            self.drawing.cancel()
            await asyncio.gather(self.drawing, return_exceptions=True)

    async def _draw_and_keep(self, identifier: str, plan: str) -> str | None:
        """A failure is not kept: it may have been the machine's, and the next request tries again."""
        self.drawing = asyncio.create_task(self._draw(identifier, plan))
        text = await asyncio.shield(self.drawing)  # the server's end cancels the request, `close` the drawing
        if text is not None:
            self.jobs.store.keep_picture(identifier, text)
        return text

    async def _draw(self, identifier: str, plan: str) -> str | None:
        folder = self.jobs.work / f"picture-{uuid.uuid4().hex}"
        folder.mkdir()
        try:
            domain, problem = self.jobs.store.texts(identifier)
            for name, text in (("domain.pddl", domain), ("problem.pddl", problem), ("sas_plan", plan)):
                (folder / name).write_text(text, encoding="utf-8", newline="")
            return await draw(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


async def draw(folder: Path) -> str | None:
    child = await Child.start(folder, command(MEMORY, "picture"), SECONDS, PICTURE_BYTES)
    output = b"".join([piece async for piece in child.output()])
    if child.killed or child.process.returncode != 0:
        return None
    return output.decode()
