"""What users see after a crash: of the server, of a worker, of clients."""

import os
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import psutil
import pytest

from oclgen.domains import catalog
from oclgen.serve.routes import api
from tests.serve.serving import ended, events, fetch, serving_process, submit, until

SPEC = catalog.load("blocksworld")


def real_job(client: httpx.Client, blocks: int, method: str, seconds: float) -> str:
    problem = catalog.draw(SPEC, 3, 0, catalog.overrides(SPEC, [f"blocks={blocks}"])).text
    body = {"domain": SPEC.domain_text, "problem": problem, "method": method, "time_limit": seconds}
    identifier: str = client.post("/api/jobs", json=body).json()["id"]
    return identifier


def test_after_kill_9_no_process_stays_and_a_restart_tells_what_was_lost(tmp_path: Path) -> None:
    with serving_process(tmp_path, "--workers", "1") as (process, client):
        done = ended(client, real_job(client, 3, "bfs", 250))
        running, waiting = real_job(client, 20, "lama", 200), real_job(client, 3, "bfs", 250)
        until(client, running, lambda job: job["plans"])
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) == 2  # the worker and Fast Downward
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert psutil.wait_procs(family, timeout=100)[1] == []
    with serving_process(tmp_path) as (process, client):
        assert fetch(client, done["id"]) == done
        assert [fetch(client, job)["status"] for job in (running, waiting)] == ["interrupted"] * 2
        assert fetch(client, running)["plans"]
        assert events(client, running)[-1][0] == "end"
        assert [path.name for path in (tmp_path / "jobs").iterdir()] == []
        last = real_job(client, 20, "lama", 200)
        until(client, last, lambda job: job["status"] == "running")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=100) in (0, -signal.SIGTERM)


def test_clients_that_hang_up_poll_or_send_garbage_do_no_harm(client: httpx.Client) -> None:
    job = submit(client, "plan 5", "sleep 600", time_limit=60)
    until(client, job, lambda job: job["plans"])
    place = (client.base_url.host, client.base_url.port or 0)
    head = f"GET /api/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    half = b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    for text in (head, half, b"\x16\x03\x01garbage\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"") * 8:
        with socket.create_connection(place) as connection:
            connection.sendall(text)
    stop = threading.Event()

    def poll() -> None:
        with httpx.Client(base_url=client.base_url) as own:
            while not stop.is_set():
                assert own.get(f"/check/{job}").json() == {"status": "PENDING"}

    pollers = [threading.Thread(target=poll) for _ in range(4)]
    for poller in pollers:
        poller.start()
    time.sleep(0.5)
    stop.set()
    for poller in pollers:
        poller.join()
    client.delete(f"/api/jobs/{job}")
    assert ended(client, job)["status"] == "cancelled"
    assert ended(client, submit(client, "plan 2"))["status"] == "solved"


def test_streams_beyond_the_most_are_refused_and_closed_ones_count_no_more(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(client, "sleep 600", time_limit=60)
    monkeypatch.setattr(api, "STREAMS", 1)
    with client.stream("GET", f"/api/jobs/{job}/events") as first:
        lines = first.iter_lines()
        assert next(lines) == "event: job"
        assert client.get(f"/api/jobs/{job}/events").status_code == 429
    client.delete(f"/api/jobs/{job}")
    ended(client, job)
    give_up = time.monotonic() + 20
    while client.get(f"/api/jobs/{job}/events").status_code == 429:
        assert time.monotonic() < give_up
        time.sleep(0.1)
