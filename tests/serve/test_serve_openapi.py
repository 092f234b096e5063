"""Requests made up from our own OpenAPI description: none may break the server or get an answer it does not list."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from oclgen.serve.jobs import queue as jobs
from oclgen.serve.settings import ServeSettings
from tests.serve.serving import serving, stub_command

CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

MANY = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "command", stub_command)
        with serving(ServeSettings(data=tmp_path_factory.mktemp("serve"), workers=1, queue=4)) as client:
            yield str(client.base_url).rstrip("/")


def send_many(operation: Any, mode: GenerationMode) -> None:
    own = operation.path.startswith("/api/")  # elsewhere the interface wants refusals with status 200
    checks = [*CHECKS, negative_data_rejection] if own else CHECKS

    @MANY
    @given(case=operation.as_strategy(generation_mode=mode))
    def answered(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(checks=checks, timeout=300)

    with suppress(Unsatisfiable):  # some requests cannot be made wrong
        answered()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_answer_is_as_described(address: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(httpx.get(f"{address}/openapi.json").json())
    schema.config.update(base_url=address)
    for operation in schema.get_all_operations():
        assert isinstance(operation, Ok)
        send_many(operation.ok(), mode)


def test_the_description_has_every_route(address: str) -> None:
    paths = httpx.get(f"{address}/openapi.json").json()["paths"]
    assert {"/api/jobs", "/api/jobs/{job_id}/events", "/package/{package}/{service}", "/check/{job_id}"} <= set(paths)


def test_the_description_is_shipped_without_outside_pages(address: str) -> None:
    for page in ("/docs", "/redoc"):
        assert httpx.get(address + page).status_code == 404
