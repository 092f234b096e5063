"""Our own interface: submit, watch, cancel, fetch."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest

from oclgen.domains import catalog
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan
from oclgen.serve.settings import ServeSettings
from tests.serve.serving import ended, events, fetch, serving, submit, until

SPEC = catalog.load("blocksworld")


def test_improving_plans_are_streamed_and_kept(client: httpx.Client) -> None:
    job = submit(client, "plan 5", "plan 3", "end exhausted 0", time_limit=30)
    told = events(client, job)
    assert [data["length"] for name, data in told if name == "plan"] == [5, 3]
    assert told[-1][0] == "end"
    assert told[-1][1]["status"] == "solved"
    assert told[-1][1]["optimal"] is True
    kept = fetch(client, job)
    assert [plan["length"] for plan in kept["plans"]] == [5, 3]
    assert kept["plans"][-1]["actions"] == ["(step s0)", "(step s1)", "(step s2)"]
    plan = client.get(f"/api/jobs/{job}/plan")
    assert plan.text.endswith("; cost = 3 (unit cost)\n")
    assert "sas_plan" in plan.headers["content-disposition"]


def test_a_stream_that_is_taken_up_again_begins_after_the_last_event(client: httpx.Client) -> None:
    job = submit(client, "plan 5", "plan 3")
    ended(client, job)
    again = events(client, job, **{"Last-Event-ID": "1"})
    assert [data["length"] for name, data in again if name == "plan"] == [3]


def test_a_plan_that_is_no_improvement_is_not_told(client: httpx.Client) -> None:
    job = submit(client, "plan 3", "plan 3", "plan 4")
    assert [data["length"] for name, data in events(client, job) if name == "plan"] == [3]


def test_a_cancelled_job_keeps_its_plan(client: httpx.Client) -> None:
    job = submit(client, "plan 5", "sleep 600", time_limit=60)
    until(client, job, lambda job: job["plans"])
    assert client.delete(f"/api/jobs/{job}").status_code == 202
    after = ended(client, job)
    assert after["status"] == "cancelled"
    assert after["plans"][0]["length"] == 5


def test_a_job_that_does_not_listen_is_killed_when_cancelled(client: httpx.Client) -> None:
    job = submit(client, "plan 5", "hang", time_limit=60)
    until(client, job, lambda job: job["plans"])
    client.delete(f"/api/jobs/{job}")
    assert ended(client, job)["status"] == "cancelled"


def test_a_full_queue_is_told_and_waiting_jobs_run_in_order(client: httpx.Client) -> None:
    first, *waiting = [submit(client, "sleep 600", time_limit=60) for _ in range(3)]
    assert [fetch(client, job)["position"] for job in (first, *waiting)] == [None, 0, 1]
    refused = client.post("/api/jobs", json={"domain": "d", "problem": "plan 1"})
    assert refused.status_code == 429
    assert "retry-after" in refused.headers
    client.delete(f"/api/jobs/{waiting[0]}")
    assert fetch(client, waiting[0])["status"] == "cancelled"
    client.delete(f"/api/jobs/{first}")
    assert until(client, waiting[1], lambda job: job["status"] == "running")["position"] is None


def test_a_hanging_planner_is_killed_at_its_limit_and_its_plan_counts(client: httpx.Client) -> None:
    job = ended(client, submit(client, "plan 4", "hang", time_limit=2))
    assert (job["status"], job["message"]) == ("solved", "The time limit was reached.")
    job = ended(client, submit(client, "hang", time_limit=0.2))
    assert (job["status"], job["message"]) == ("unsolved", "The time limit was reached.")


def test_a_planner_that_floods_is_stopped(client: httpx.Client) -> None:
    job = ended(client, submit(client, "flood", time_limit=60))
    assert job["status"] == "failed"
    assert "printed more" in job["message"]


@pytest.mark.parametrize(
    ("order", "status", "message"),
    [
        ("end exhausted 11", "unsolvable", "Proved: the problem has no plan."),
        ("end incomplete 12", "unsolved", "Nothing left to try."),
        ("end memory 22", "unsolved", "The memory limit was reached."),
        ("fail 31 problem.pddl:3: bad word", "failed", "problem.pddl:3: bad word"),
    ],
)
def test_each_ending_has_its_status(client: httpx.Client, order: str, status: str, message: str) -> None:
    job = ended(client, submit(client, order))
    assert (job["status"], job["message"]) == (status, message)


def test_a_worker_killed_from_outside_is_told_and_the_next_job_runs(client: httpx.Client) -> None:
    job = submit(client, "plan 5", "sleep 600", time_limit=60)
    until(client, job, lambda job: job["plans"])
    (worker,) = [child for child in psutil.Process().children() if "stub_planner" in " ".join(child.cmdline())]
    os.kill(worker.pid, signal.SIGKILL)
    after = ended(client, job)
    assert (after["status"], after["message"]) == ("solved", "The planner's process was killed (signal 9).")
    assert ended(client, submit(client, "plan 2"))["status"] == "solved"


def test_nothing_of_a_job_stays_in_the_working_folder(client: httpx.Client, settings: ServeSettings) -> None:
    ended(client, submit(client, "plan 2"))
    ended(client, submit(client, "fail 36 x"))
    last = submit(client, "plan 1")
    until(client, last, lambda job: job["status"] != "queued")  # the only worker has cleaned up
    assert {path.name for path in (settings.data / "jobs").iterdir()} <= {last}


def test_the_planner_does_not_see_the_token(settings: ServeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCLGEN_TOKEN", "x" * 20)
    with serving(settings) as client:
        job = submit(client, "secret")
        ended(client, job)
        assert client.get(f"/check/{job}").json()["result"]["stdout"] == "token None\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b'{"domain": "d"}', 422),
        (b'{"domain": "d", "problem": ""}', 422),
        (b'{"domain": "d", "problem": "\\ud800"}', 422),
        (b'{"domain": "d", "problem": "p", "method": "/bin/sh"}', 422),
        (b'{"domain": "d", "problem": "p", "time_limit": 0}', 422),
        (b'{"domain": "d", "problem": "p", "time_limit": 1e999}', 422),
        (b'{"domain": "d", "problem": "p", "plan_file": "/etc/passwd"}', 422),
        (b"[" * 100_000, 400),
    ],
)
def test_a_bad_request_is_refused_in_one_sentence(client: httpx.Client, body: bytes, status: int) -> None:
    answer = client.post("/api/jobs", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert isinstance(answer.json()["detail"], str)


@pytest.mark.parametrize("part", ["", "/events", "/plan", "/picture", "/problem"])
def test_an_unknown_job_is_not_found(client: httpx.Client, part: str) -> None:
    assert client.get(f"/api/jobs/{'0' * 32}{part}").status_code == 404


def test_a_limit_beyond_the_longest_is_shortened(client: httpx.Client) -> None:
    assert fetch(client, submit(client, "plan 1", time_limit=3600))["time_limit"] == 60


def test_a_job_that_asks_for_no_limit_has_the_servers(settings: ServeSettings) -> None:
    with serving(replace(settings, time_limit=7)) as client:
        assert fetch(client, submit(client, "plan 1"))["time_limit"] == 7


def test_the_real_planner_finds_a_valid_plan_and_it_is_drawn(tmp_path: Path) -> None:
    problem = catalog.draw(SPEC, 3, 0, catalog.overrides(SPEC, ["blocks=4"])).text
    with serving(ServeSettings(data=tmp_path, longest_time_limit=600)) as client:
        body = {"domain": SPEC.domain_text, "problem": problem, "method": "bfs", "time_limit": 300}
        job = ended(client, client.post("/api/jobs", json=body).json()["id"])
        assert (job["status"], job["optimal"]) == ("solved", True), job["message"]
        plan = parse_plan(client.get(f"/api/jobs/{job['id']}/plan").text)
        assert validate(SPEC.domain_text, problem, plan).valid
        picture = client.get(f"/api/jobs/{job['id']}/picture").json()
        assert picture["domain"] == "blocksworld"
        assert len(picture["steps"]) == len(plan)
        assert client.get(f"/api/jobs/{job['id']}/problem").json()["problem"] == problem


def test_bad_pddl_is_told_by_file_and_line(tmp_path: Path) -> None:
    with serving(ServeSettings(data=tmp_path, longest_time_limit=600)) as client:
        body = {"domain": SPEC.domain_text, "problem": "(define (problem p)\n(:init (((", "time_limit": 300}
        job = ended(client, client.post("/api/jobs", json=body).json()["id"])
        assert job["status"] == "failed"
        assert job["message"].startswith("problem.pddl:")
