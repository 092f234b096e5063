"""Pictures that fail, and a server that ends while it draws one."""

import sys
import threading
import time
from contextlib import suppress

import httpx
import psutil
import pytest

from oclgen.serve.jobs import pictures
from oclgen.serve.settings import ServeSettings
from tests.serve.serving import PATIENCE, ended, serving, submit


def draw_with(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(pictures, "command", lambda *_: [sys.executable, "-S", "-c", program])


def drawing_process() -> psutil.Process:
    """The child that draws, as soon as there is one."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        for child in psutil.Process().children():
            with suppress(psutil.Error):
                if "draws for ever" in " ".join(child.cmdline()):
                    return child
        time.sleep(0.02)
    raise AssertionError("nothing draws")


def test_a_drawing_that_failed_is_tried_again(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"/api/jobs/{ended(client, submit(client, 'plan 2'))['id']}/picture"
    draw_with(monkeypatch, "raise SystemExit(1)")
    failed = client.get(address)
    assert (failed.status_code, failed.json()) == (404, {"detail": "The plan could not be drawn."})
    draw_with(monkeypatch, "print('{\"steps\": []}')")
    assert client.get(address).json() == {"steps": []}
    draw_with(monkeypatch, "raise SystemExit(1)")
    assert client.get(address).json() == {"steps": []}


def test_a_server_that_ends_kills_what_draws(settings: ServeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_with(monkeypatch, "import time; time.sleep(600)  # draws for ever")
    with serving(settings) as client:
        job = ended(client, submit(client, "plan 2"))["id"]

        def ask() -> None:
            with suppress(httpx.HTTPError):
                httpx.get(client.base_url.join(f"/api/jobs/{job}/picture"), timeout=PATIENCE)

        asking = threading.Thread(target=ask)
        asking.start()
        child = drawing_process()
    asking.join()
    assert not child.is_running()
