"""Load and abuse of `oclgen serve`: many clients for a minute, then what they saw.

    python -m benchmarks.serve_load --clients 100 --seconds 60

Half of the clients submit real jobs and watch them to the end, the others poll, hang up in the middle of a stream,
send 20 MB or send garbage. Printed are the answers by kind, the server's memory over time, and by how much jobs overran
their time limits. The exit code is 1 where a client got another error than 429, where the server's memory grew by more
than 100 MB after the first quarter, or where a job overran by more than 0.5 seconds.
"""

import argparse
import asyncio
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from oclgen.domains import catalog

OVERRUN_SECONDS = 0.5
GROWTH_BYTES = 100 << 20
LIMITS = (1.0, 2.0, 4.0)
GARBAGE = (b"{", b"[" * 50_000, b"\xff\xfe\x00", b'{"domain": 1}', b'{"domain": "(((((", "problem": ")"}')
JSON = {"Content-Type": "application/json"}


@dataclass(slots=True)
class Tally:
    """What the clients saw."""

    answers: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    overruns: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def note(self, kind: str, response: httpx.Response, *expected: int) -> None:
        self.answers[f"{kind} {response.status_code}"] += 1
        if response.status_code not in (*expected, 429):
            self.errors.append(f"{kind}: {response.status_code} {response.text[:200]}")


@dataclass(frozen=True, slots=True)
class Client:
    """One client with a temper of its own."""

    http: httpx.AsyncClient
    tally: Tally
    rng: random.Random
    domain: str
    problems: list[str]

    def body(self) -> dict[str, object]:
        method = self.rng.choice(("oclgen", "lama"))
        return {
            "domain": self.domain,
            "problem": self.rng.choice(self.problems),
            "method": method,
            "time_limit": self.rng.choice(LIMITS),
        }

    async def submit(self) -> str | None:
        response = await self.http.post("/api/jobs", json=self.body())
        self.tally.note("submit", response, 201)
        if response.status_code != 201:
            await asyncio.sleep(self.rng.uniform(0.1, 1.0))
            return None
        return str(response.json()["id"])

    async def watch(self) -> None:
        """Submit, follow the stream to its end, fetch the result."""
        job = await self.submit()
        if job is None:
            return
        async with self.http.stream("GET", f"/api/jobs/{job}/events") as response:
            async for _ in response.aiter_bytes():
                pass
        fetched = await self.http.get(f"/api/jobs/{job}")
        self.tally.note("fetch", fetched, 200)
        view = fetched.json()
        self.tally.answers[f"job {view['status']}"] += 1
        if view["started"] is not None and view["finished"] is not None:
            self.tally.overruns.append(view["finished"] - view["started"] - view["time_limit"])

    async def poll(self) -> None:
        response = await self.http.post("/package/oclgen/solve", json=self.body())
        self.tally.note("solve", response, 200)
        if response.status_code != 200:
            await asyncio.sleep(self.rng.uniform(0.1, 1.0))
            return
        while (await self.http.get(response.json()["result"])).json()["status"] == "PENDING":
            await asyncio.sleep(0.05)

    async def hang_up(self) -> None:
        job = await self.submit()
        if job is not None:
            async with self.http.stream("GET", f"/api/jobs/{job}/events") as response:
                async for _ in response.aiter_bytes():
                    break
            self.tally.note("cancel", await self.http.delete(f"/api/jobs/{job}"), 202)

    async def large(self) -> None:
        body = b'{"domain": "' + b"x" * 20_000_000 + b'", "problem": "p"}'
        self.tally.note("20 MB", await self.http.post("/api/jobs", content=body, headers=JSON), 413)
        await asyncio.sleep(self.rng.uniform(1, 3))

    async def garbage(self) -> None:
        body = self.rng.choice(GARBAGE)
        response = await self.http.post("/api/jobs", content=body, headers=JSON)
        self.tally.note("garbage", response, 201, 400, 422)
        await asyncio.sleep(self.rng.uniform(0.05, 0.5))


async def until(deadline: float, client: Client, act: Callable[[], Awaitable[None]]) -> None:
    while time.monotonic() < deadline:
        try:
            await act()
        except httpx.HTTPError as error:
            client.tally.errors.append(f"{act.__name__}: {type(error).__name__} {error}")


async def watch_memory(deadline: float, process: psutil.Process, tally: Tally) -> None:
    while time.monotonic() < deadline:
        tally.memory.append(process.memory_info().rss)
        await asyncio.sleep(0.5)


async def load(address: str, server: psutil.Process, clients: int, seconds: float) -> Tally:
    spec = catalog.load("blocksworld")
    sizes = catalog.overrides(spec, ["blocks=4..12"])
    problems = [catalog.draw(spec, 1, index, sizes).text for index in range(20)]
    tally, deadline = Tally(), time.monotonic() + seconds
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits) as http:
        tasks = [watch_memory(deadline, server, tally)]
        for number in range(clients):
            client = Client(http, tally, random.Random(number), spec.domain_text, problems)
            kinds = (client.watch, client.poll, client.watch, client.hang_up, client.watch, client.garbage)
            act = client.large if number % 25 == 24 else kinds[number % len(kinds)]
            tasks.append(until(deadline, client, act))
        await asyncio.gather(*tasks)
    return tally


def report(tally: Tally) -> bool:
    """Print what was seen; true where all is well."""
    for kind, count in sorted(tally.answers.items()):
        print(f"{count:8} {kind}")
    early, late = max(tally.memory[: len(tally.memory) // 4 + 1]), max(tally.memory)
    print(f"server memory: {early >> 20} MB in the first quarter, {late >> 20} MB at most")
    overruns = sorted(tally.overruns)
    if overruns:
        print(f"{len(overruns)} jobs; over their limit by {overruns[-1]:+.3f} s at most")
    for error in tally.errors[:10]:
        print("error:", error)
    return not tally.errors and late - early < GROWTH_BYTES and (not overruns or overruns[-1] <= OVERRUN_SECONDS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "oclgen", "serve", "--port", "0", "--data", str(Path(folder) / "data")]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split(" on ")[1].split()[0]
            tally = asyncio.run(load(address, psutil.Process(server.pid), options.clients, options.seconds))
            with socket.create_connection((httpx.URL(address).host, httpx.URL(address).port or 0)):
                pass  # still there
            return 0 if report(tally) else 1
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
