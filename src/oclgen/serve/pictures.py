"""Pictures of plans on demand: drawn by a child, one at a time, and kept with the job."""

import asyncio
import json
import shutil
import uuid
from pathlib import Path
from typing import Any

from oclgen.serve.jobs import Busy, Jobs
from oclgen.serve.process import Child, command

SECONDS = 10.0
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

    async def drawn(self, identifier: str, plan: str) -> dict[str, Any]:
        if self.waiting >= LONGEST_LINE:
            raise Busy
        self.waiting += 1
        try:
            async with self.turn:
                text = self.jobs.store.picture(identifier)
                if text is None:
                    text = await self._draw(identifier, plan)
                    self.jobs.store.keep_picture(identifier, text)
        finally:
            self.waiting -= 1
        picture: dict[str, Any] = json.loads(text)
        return picture

    async def _draw(self, identifier: str, plan: str) -> str:
        folder = self.jobs.work / f"picture-{uuid.uuid4().hex}"
        folder.mkdir()
        try:
            domain, problem = self.jobs.store.texts(identifier)
            for name, text in (("domain.pddl", domain), ("problem.pddl", problem), ("sas_plan", plan)):
                (folder / name).write_text(text, encoding="utf-8", newline="")
            return await draw(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


async def draw(folder: Path) -> str:
    child = await Child.start(folder, command(MEMORY, "picture"), SECONDS, PICTURE_BYTES)
    output = b"".join([piece async for piece in child.output()])
    if child.killed or child.process.returncode != 0:
        return json.dumps(FAILED)
    return output.decode()
