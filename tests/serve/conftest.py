"""A server with a planner that does as it is told."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from oclgen.serve.jobs import queue as jobs
from oclgen.serve.settings import ServeSettings
from tests.serve.serving import serving, stub_command


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServeSettings:
    monkeypatch.setattr(jobs, "command", stub_command)
    return ServeSettings(data=tmp_path, workers=1, queue=2, longest_time_limit=60)


@pytest.fixture
def client(settings: ServeSettings) -> Iterator[httpx.Client]:
    with serving(settings) as client:
        yield client
