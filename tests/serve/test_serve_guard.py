"""Who is let in, and with how much."""

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from oclgen.cli import run as run_cli
from oclgen.errors import ExitCode, InputError
from oclgen.serve.guard import Refused, read_body
from oclgen.serve.settings import ServeSettings
from tests.serve.serving import ended, serving, submit

EDITOR = "https://editor.example"
TOKEN = "a-long-enough-token"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def locked(settings: ServeSettings) -> Iterator[httpx.Client]:
    with serving(replace(settings, data=settings.data / "locked", token=TOKEN, origins=(EDITOR,))) as client:
        yield client


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_beyond_loopback_a_token_is_needed(host: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="token"):
        ServeSettings(data=tmp_path, host=host)
    assert ServeSettings(data=tmp_path, host=host, token=TOKEN).host == host


def test_the_command_refuses_to_listen_beyond_loopback_without_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["serve", "--host", "0.0.0.0", "--data", str(tmp_path)]) == ExitCode.BAD_INPUT
    assert "--token" in capsys.readouterr().err


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="16"):
        ServeSettings(data=tmp_path, token="short")


@pytest.mark.parametrize("path", ["/api/server", "/package", "/api/jobs/x", "//api/server"])
def test_without_the_token_nothing_is_told(locked: httpx.Client, path: str) -> None:
    base = str(locked.base_url).rstrip("/")
    assert httpx.get(base + path).status_code == 401
    assert httpx.get(base + path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert httpx.get(base + path, headers={"Authorization": "Basic ???"}).status_code == 401


def test_the_token_comes_as_bearer_or_as_a_password(locked: httpx.Client) -> None:
    assert locked.get("/api/server", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert locked.get("/api/server", auth=("anybody", TOKEN)).status_code == 200


def test_the_page_and_a_job_whose_id_is_known_need_no_token(locked: httpx.Client) -> None:
    assert locked.get("/").status_code == 200
    assert locked.get("/static/page.js").status_code == 200
    assert locked.get(f"/check/{'0' * 32}").json() == {"Error": "There is no such job."}


def test_pages_of_other_origins_are_refused_unless_allowed(client: httpx.Client, locked: httpx.Client) -> None:
    assert client.get("/api/server", headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.get("/api/server", headers={"Origin": "null"}).status_code == 403
    assert client.get("/api/server", headers={"Origin": str(client.base_url).rstrip("/")}).status_code == 200
    allowed = locked.get("/package", headers={"Origin": EDITOR, "Authorization": f"Bearer {TOKEN}"})
    assert allowed.headers["access-control-allow-origin"] == EDITOR


def test_a_name_that_only_points_here_is_refused(client: httpx.Client) -> None:
    assert client.get("/api/server", headers={"Host": "rebound.example:80"}).status_code == 403
    assert client.get("/api/server", headers={"Host": "localhost:1"}).status_code == 200
    assert client.get("/api/server", headers={"Host": "[::1"}).status_code == 403


def test_twenty_megabytes_are_refused_and_the_server_goes_on(client: httpx.Client) -> None:
    large = b'{"domain": "' + b"x" * 20_000_000 + b'", "problem": "p"}'
    for path in ("/api/jobs", "/package/oclgen/solve", "/solve"):
        assert client.post(path, content=large, headers=JSON).status_code == 413
    assert client.post("/api/jobs", content=iter([large, large]), headers=JSON).status_code == 413
    assert ended(client, submit(client, "plan 2"))["status"] == "solved"


def test_a_body_that_never_ends_is_cut_off_while_it_comes() -> None:
    received = 0

    async def endless() -> dict[str, object]:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    with pytest.raises(Refused):
        asyncio.run(read_body(endless, limit=1000))
    assert received == 21


@pytest.mark.parametrize("path", ["/static/../settings.py", "/static/%2e%2e/settings.py", "/static//etc/passwd"])
def test_no_other_file_is_served(client: httpx.Client, path: str) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404")


def test_the_page_may_load_nothing_from_elsewhere(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["content-security-policy"].startswith("default-src 'self';")
    for path in ("/", "/static/page.js", "/static/page.css"):
        text = client.get(path).text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
