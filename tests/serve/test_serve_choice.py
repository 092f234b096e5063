"""Which method serves a job that names none, and whose model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from oclgen.cli import run as run_cli
from oclgen.errors import ExitCode
from oclgen.model_folders import PRETRAINED
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan
from tests.integrations.test_shorten_command import FERRY, SHORTEST, TWO_CARS
from tests.relational_folder import write_relational_checkpoint
from tests.serve.serving import ended, events, fetch, serving_process, submit, until
from tests.test_shipped_models import FERRY as FERRY_PROBLEM

STRANGER = {"domain": FERRY, "problem": TWO_CARS, "time_limit": 250}
"""No model of this domain is shipped."""
SAILING = {**STRANGER, "domain": FERRY.replace(":action sail", ":action cruise")}
"""Another domain, without a model of anybody's."""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with serving_process(tmp_path_factory.mktemp("serve"), "--workers", "1") as (_, client):
        yield client


@pytest.fixture(scope="module")
def with_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server that has a model of its own for the stranger's domain, and before it one of another domain."""
    folder = tmp_path_factory.mktemp("serve")
    other, own = folder / "other", folder / "own"
    write_relational_checkpoint(other / "relational", FERRY.replace(":action board", ":action load"))
    write_relational_checkpoint(own / "relational", FERRY)
    models = ("--model", str(other), "--model", str(own))
    with serving_process(folder / "data", "--workers", "1", *models) as (_, client):
        yield client


def solved(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/api/jobs", json=body)
    assert answer.status_code == 201, answer.text
    job = ended(client, answer.json()["id"])
    assert job["status"] == "solved", job["message"]
    assert validate(body["domain"], body["problem"], parse_plan("\n".join(job["plans"][-1]["actions"]))).valid
    return job


def test_a_method_that_the_planner_chooses_is_told_when_it_has_ended(client: httpx.Client) -> None:
    job = submit(client, "plan 5", "sleep 600", time_limit=60)
    running = until(client, job, lambda job: job["plans"])
    assert (running["method"], running["chosen"]) == (None, True)
    client.delete(f"/api/jobs/{job}")
    assert ended(client, job)["method"] is None  # it could not tell any more
    told = events(client, submit(client, "plan 3", "end exhausted 0 lama"))
    assert {data["method"] for name, data in told if name == "job"} <= {None}
    assert (told[-1][1]["method"], told[-1][1]["chosen"]) == ("lama", True)


def test_a_method_that_the_request_names_is_told_at_once(client: httpx.Client) -> None:
    job = fetch(client, submit(client, "plan 3", method="bfs"))
    assert (job["method"], job["chosen"]) == ("bfs", False)


def test_no_method_may_be_said_as_null(client: httpx.Client) -> None:
    assert fetch(client, submit(client, "plan 3", method=None))["chosen"]
    answer = client.post("/sync/package/oclgen/solve", json={"domain": "d", "problem": "plan 3", "method": None})
    assert "sas_plan" in answer.json()


def test_a_domain_without_a_model_is_solved_by_default(real: httpx.Client) -> None:
    job = solved(real, STRANGER)
    assert (job["method"], job["chosen"], job["optimal"]) == ("lama", True, True)
    assert job["plans"][-1]["length"] == SHORTEST


def test_a_domain_with_a_shipped_model_is_solved_by_it_by_default(real: httpx.Client) -> None:
    domain = (PRETRAINED / "ipc2023-ferry" / "relational" / "domain.pddl").read_text()
    assert solved(real, {**STRANGER, "domain": domain, "problem": FERRY_PROBLEM})["method"] == "oclgen"


def test_an_editor_gets_a_plan_for_a_domain_without_a_model(real: httpx.Client) -> None:
    place = real.post("/package/oclgen/solve", json=STRANGER).json()["result"]
    job = ended(real, place.removeprefix("/check/").removesuffix("?external=True"))
    assert (job["status"], job["method"]) == ("solved", "lama")
    result = real.get(place).json()["result"]
    assert result["stderr"] == ""
    assert "No model for domain small-ferry: LAMA" in result["stdout"]
    assert validate(FERRY, TWO_CARS, parse_plan(result["output"]["sas_plan"])).valid
    adapted = real.post(place, json={"adaptor": "planning_editor_adaptor"}).json()
    assert (adapted["status"], adapted["plans"][0]["result"]["length"]) == ("ok", SHORTEST)


def test_a_domain_that_cannot_be_solved_by_a_model_says_so_where_one_is_asked_for(real: httpx.Client) -> None:
    job = ended(real, real.post("/api/jobs", json={**STRANGER, "method": "oclgen"}).json()["id"])
    assert job["status"] == "failed"
    assert job["message"].startswith("no shipped model fits domain 'small-ferry'")


@pytest.mark.parametrize("method", [None, "oclgen"])
def test_a_model_of_the_servers_own_serves_its_domain(with_model: httpx.Client, method: str | None) -> None:
    job = solved(with_model, {**STRANGER, "method": method})
    assert (job["method"], job["chosen"]) == ("oclgen", method is None)


def test_beside_a_model_of_the_servers_own_other_domains_and_methods_are_served_as_ever(
    with_model: httpx.Client,
) -> None:
    assert solved(with_model, SAILING)["method"] == "lama"
    assert solved(with_model, {**STRANGER, "method": "bfs"})["method"] == "bfs"
    bad = with_model.post("/api/jobs", json={**STRANGER, "domain": "(define (domain d"}).json()["id"]
    assert ended(with_model, bad)["message"].startswith("domain.pddl:1:")


def test_a_model_that_has_gone_since_the_start_is_told_in_one_line(tmp_path: Path) -> None:
    checkpoint = write_relational_checkpoint(tmp_path / "model" / "relational", FERRY)
    with serving_process(tmp_path / "data", "--model", str(tmp_path / "model")) as (_, client):
        (checkpoint / "domain.pddl").unlink()
        job = ended(client, client.post("/api/jobs", json=STRANGER).json()["id"])
    assert (job["status"], job["exit_code"]) == ("failed", ExitCode.BAD_INPUT)
    assert job["message"].startswith(f"{tmp_path / 'model'}: no such model folder")


@pytest.mark.parametrize("verb", [["serve", "--port", "0"], ["mcp"]])
def test_a_folder_without_a_model_is_refused_at_the_start(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if verb == ["mcp"]:
        pytest.importorskip("mcp", reason="needs the extra `mcp`")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run_cli([*verb, "--model", str(tmp_path)]) == ExitCode.BAD_INPUT
    told = capsys.readouterr().err
    assert told.startswith(f"oclgen: {tmp_path}: no such model folder")
    assert told.count("\n") == 1
    assert not (tmp_path / "state").exists()
