"""Planning as a service, as editors and planutils use it."""

from typing import Any

import httpx
import pytest

from oclgen.serve.routes.adaptor import grounded, operators
from tests.serve.serving import ended, submit

DOMAIN = """(define (domain d) ; (:action no)
  (:action STEP :parameters (?x - (either a b) ?xy) :precondition (p ?x) :effect (q ?xy)))"""
SOLVED = {"domain": DOMAIN, "problem": "plan 5\nplan 2"}
FAILED = {"domain": DOMAIN, "problem": "fail 31 problem.pddl:1: nonsense"}


def solved_later(client: httpx.Client, body: dict[str, Any]) -> str:
    """Submit as planutils does, wait, and return where to ask."""
    place: str = client.post("/package/oclgen/solve", json=body).json()["result"]
    assert place.endswith("?external=True")
    ended(client, place.removeprefix("/check/").removesuffix("?external=True"))
    return place


def test_a_job_is_pending_and_then_has_a_plan(client: httpx.Client) -> None:
    waiting = submit(client, "sleep 600", time_limit=60)
    assert client.get(f"/check/{waiting}").json() == {"status": "PENDING"}
    client.delete(f"/api/jobs/{waiting}")
    answer = client.get(solved_later(client, SOLVED)).json()
    assert answer["status"] == "ok"
    assert answer["result"]["stderr"] == ""
    assert "Plan length: 2" in answer["result"]["stdout"]
    assert answer["result"]["output"] == {"sas_plan": "(step s0)\n(step s1)\n; cost = 2 (unit cost)\n"}
    assert answer["result"]["call"]


def test_planutils_asks_with_two_slashes(client: httpx.Client) -> None:
    place = solved_later(client, SOLVED)
    assert httpx.get(f"{str(client.base_url).rstrip('/')}/{place}").json()["status"] == "ok"


def test_the_editor_gets_steps_with_their_operators(client: httpx.Client) -> None:
    answer = client.post(solved_later(client, SOLVED), json={"adaptor": "planning_editor_adaptor"}).json()
    assert answer["status"] == "ok"
    (plan,) = answer["plans"]
    assert plan["status"] == "ok"
    assert (plan["result"]["length"], plan["result"]["type"], plan["result"]["parse_status"]) == (2, "full", "ok")
    assert [step["name"] for step in plan["result"]["plan"]] == ["(step s0)", "(step s1)"]
    assert "(p s1)" in plan["result"]["plan"][1]["action"]


def test_the_editor_is_told_why_there_is_no_plan(client: httpx.Client) -> None:
    answer = client.post(solved_later(client, FAILED), json={"adaptor": "planning_editor_adaptor"}).json()
    assert (answer["status"], answer["result"]["parse_status"]) == ("error", "err")
    assert "problem.pddl:1: nonsense" in answer["result"]["error"]


def test_an_operators_text_is_found_and_its_variables_are_replaced_as_words() -> None:
    assert list(operators(DOMAIN)) == ["step"]
    assert grounded(operators(DOMAIN)["step"], ["o1", "o2"]).endswith(":precondition (p o1) :effect (q o2))")


def test_a_synchronous_answer_has_the_plan_file(client: httpx.Client) -> None:
    answer = client.post("/sync/package/oclgen/solve", json=SOLVED).json()
    assert list(answer) == ["stdout", "stderr", "sas_plan"]
    assert answer["stderr"] == ""
    assert "nonsense" in client.post("/sync/package/oclgen/solve", json=FAILED).json()["stderr"]


def test_vs_code_gets_steps(client: httpx.Client) -> None:
    answer = client.post("/solve", json={**SOLVED, "kind": "SERVICE_SYNC", "url": "x", "authentication": None}).json()
    assert answer["status"] == "ok"
    assert answer["result"]["plan"] == [{"name": "(step s0)"}, {"name": "(step s1)"}]
    failed = client.post("/solve", json=FAILED).json()
    assert (failed["status"], "nonsense" in failed["result"]["error"]) == ("error", True)


@pytest.mark.parametrize("path", ["/solve", "/package/oclgen/solve", "/sync/package/oclgen/solve"])
def test_a_probe_without_a_body_gets_a_client_error(client: httpx.Client, path: str) -> None:
    assert client.post(path).status_code == 400
    assert client.post(path, content=b"\xff\x00garbage").status_code == 400
    assert client.post(path, json=["domain"]).status_code == 400
    assert client.post(path, json={"domain": 5, "problem": "p"}).status_code == 400
    assert client.post(path, json={**SOLVED, "method": "rm -rf"}).status_code == 400
    assert client.post(path, json={**SOLVED, "time_limit": "1; reboot"}).status_code == 400


def test_refusals_are_told_as_planning_as_a_service_does(client: httpx.Client) -> None:
    missing = client.post("/package/oclgen/solve", json={"domain": "d"})
    assert (missing.status_code, missing.json()) == (200, {"Error": "Required argument, problem was not provided"})
    assert client.post("/package/other/solve", json=SOLVED).json() == {"Error": "That package does not exist"}
    assert client.get("/package/other").json() == {"Error": "That package does not exist"}
    assert "Error" in client.post("/package/oclgen/validate", json=SOLVED).json()
    assert client.post(f"/check/{'0' * 32}", json={"adaptor": "other"}).status_code == 400


def test_the_package_lists_the_arguments_that_planutils_counts(client: httpx.Client) -> None:
    package = client.get("/package").json()["oclgen"]
    solve = package["endpoint"]["services"]["solve"]
    assert [argument["name"] for argument in solve["args"]] == ["domain", "problem"]
    assert package == client.get("/package/oclgen/solve").json()


def test_synchronous_requests_that_wait_too_long_are_turned_away(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oclgen.serve.routes.service.SYNC_QUEUE_SECONDS", 0.1)
    submit(client, "sleep 600", time_limit=60)
    assert client.post("/solve", json=SOLVED).status_code == 429
    assert client.get("/api/server").json()["waiting"] == 0


def test_a_client_that_hangs_up_ends_its_job(client: httpx.Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        client.post("/solve", json={"domain": "d", "problem": "sleep 600", "time_limit": 10}, timeout=0.3)
    job = submit(client, "plan 1", time_limit=5)
    assert ended(client, job)["status"] == "solved"
