"""A server for tests: in a thread, with a planner that does as it is told, or whole in a process of its own."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio._backends._asyncio  # noqa: F401  (else imported in the server's thread, where pytest cannot rewrite it)
import httpx
import uvicorn

from oclgen.serve.app import make_app
from oclgen.serve.run import listen
from oclgen.serve.settings import ServeSettings

STUB = Path(__file__).parent / "stub_planner.py"
PATIENCE = 300.0


def stub_command(memory: int, verb: str, *arguments: str, models: Sequence[Path] = ()) -> list[str]:
    return [sys.executable, "-S", str(STUB), verb, *arguments]


@contextmanager
def serving(settings: ServeSettings) -> Iterator[httpx.Client]:
    """A client of a server that runs in this process."""
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(make_app(settings), log_level="warning", loop="asyncio", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=PATIENCE) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@contextmanager
def serving_process(data: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """`oclgen serve` as a user starts it."""
    command = [sys.executable, "-m", "oclgen", "serve", "--port", "0", "--data", str(data), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" on ")[1].split()[0]
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def submit(client: httpx.Client, *orders: str, **more: Any) -> str:
    """A job for the stub planner."""
    answer = client.post("/api/jobs", json={"domain": "d", "problem": "\n".join(orders), **more})
    assert answer.status_code == 201, answer.text
    identifier: str = answer.json()["id"]
    return identifier


def fetch(client: httpx.Client, identifier: str) -> dict[str, Any]:
    job: dict[str, Any] = client.get(f"/api/jobs/{identifier}").json()
    return job


def ended(client: httpx.Client, identifier: str) -> dict[str, Any]:
    """The job, once it has ended."""
    return until(client, identifier, lambda job: job["finished"] is not None)


def until(client: httpx.Client, identifier: str, reached: Any) -> dict[str, Any]:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        job = fetch(client, identifier)
        if reached(job):
            return job
        time.sleep(0.02)
    raise AssertionError(f"still {job['status']}: {job['message']}")


def events(client: httpx.Client, identifier: str, **headers: str) -> list[tuple[str, dict[str, Any]]]:
    """All events of a job, to its end."""
    text = client.get(f"/api/jobs/{identifier}/events", headers=headers).text
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found
