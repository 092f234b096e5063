"""Several searches of one problem, in real processes: plans go round, losses are survived, nothing stays behind."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from oclgen import improving_plans, search_group, solve
from oclgen.domains import catalog
from oclgen.interfaces import Plan
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan
from oclgen.planner import prepare
from oclgen.search.anytime import Budget, Counters, Ending
from oclgen.search.extensions.exchange import SharedState
from oclgen.search_group import SearchGroup, affordable_searches, member_seed
from tests.model_folder import write_random_model

SPEC = catalog.load("blocksworld")
DOMAIN = SPEC.domain_text
PROBLEM = catalog.draw(SPEC, 7001, 0, catalog.overrides(SPEC, ["blocks=20..20"])).text
PATIENCE = 120.0
ROUND: Plan = (("a",), ("b",), ("c",))

ENDS = "import sys; sys.stdin.readline(); sys.exit(3)"
POSTS = "import sys; sys.stdin.readline(); print('{plan}', flush=True); sys.stdin.read()"
SHORTENS = (
    "import json, sys; sys.stdin.readline(); plan = json.loads(sys.stdin.readline())['plan'];"
    "print(json.dumps({'plan': plan[1:], 'counters': {'iterations': 5}}), flush=True); sys.stdin.read()"
)
ECHOES = (
    "import json, sys; sys.stdin.readline()\n"
    "for line in sys.stdin: print(json.dumps({'counters': {'evaluated': len(json.loads(line)['states'])}}), flush=True)"
)
"""Tells how many states came in a message."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("model"), "blocksworld")


def posting(plan: Plan) -> str:
    return POSTS.format(plan=json.dumps({"plan": plan}))


def play(monkeypatch: pytest.MonkeyPatch, *scripts: str) -> list[str]:
    """Let the children run these scripts, at once; returns those that have not been started."""
    left = list(scripts)

    def start(_memory: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", left.pop(0)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(search_group, "start_process", start)
    monkeypatch.setattr(search_group, "START_SECONDS", 0.0)
    monkeypatch.setattr(search_group, "PROOF_SECONDS", 0.0)
    return left


def wait_until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def members(parent: int) -> list[psutil.Process]:
    """The living children of a search group, also after the death of their parent."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if "oclgen.search_member" in words and str(parent) in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Starts `oclgen solve` with the shipped model and three searches; what still runs at the end is killed."""
    processes = []

    def start(*more: str) -> "subprocess.Popen[bytes]":
        (tmp_path / "domain.pddl").write_text(DOMAIN)
        (tmp_path / "problem.pddl").write_text(PROBLEM)
        command = [sys.executable, "-m", "oclgen", "solve", "problem.pddl", "--threads", "3"]
        command += ["--json", "record.json", *more]
        with (tmp_path / "out").open("wb") as out:
            process = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=subprocess.STDOUT)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_a_run_with_three_searches_leaves_valid_plans_a_record_and_no_process(
    running: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    process = running("--overall-time-limit", "10m")
    wait_until(lambda: len(members(process.pid)) == 2)
    wait_until(lambda: b"Plan length" in (tmp_path / "out").read_bytes())
    process.terminate()
    assert process.wait(PATIENCE) == 0
    assert members(process.pid) == []
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["threads"], record["searches"]) == (3, 3)
    plans = [parse_plan(path.read_text(), path.name) for path in sorted(tmp_path.glob("sas_plan.*"))]
    assert plans
    assert all(validate(DOMAIN, PROBLEM, plan).valid for plan in plans)
    assert "ended early" not in (tmp_path / "out").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_children_end_with_their_parent(
    number: int, running: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    process = running("--overall-time-limit", "10m")
    wait_until(lambda: len(members(process.pid)) == 2)
    wait_until(lambda: b"Plan length" in (tmp_path / "out").read_bytes())
    os.kill(process.pid, number)
    assert process.wait(PATIENCE) == (-number if number == signal.SIGKILL else 0)
    wait_until(lambda: not members(process.pid))


def test_a_killed_child_is_a_line_in_the_log_and_not_the_end(
    running: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    process = running("--overall-time-limit", "10m")
    wait_until(lambda: len(members(process.pid)) == 2)
    members(process.pid)[0].kill()
    wait_until(lambda: b"ended early" in (tmp_path / "out").read_bytes())
    wait_until(lambda: b"Plan length" in (tmp_path / "out").read_bytes())
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


def test_a_member_finds_plans_by_itself() -> None:
    prepared = prepare(DOMAIN, PROBLEM)
    assert prepared.model is not None
    job = {
        "domain": DOMAIN,
        "problem": PROBLEM,
        "model": str(prepared.model.folder),
        "settings": prepared.settings,
    }
    group = SearchGroup(job, 0, 2, Budget(PATIENCE))
    group.start()
    try:
        wait_until(lambda: group.exchange.length is not None)
        plan = group.exchange.take()
        wait_until(lambda: any(counted["iterations"] for counted in group.counted() if counted))
    finally:
        group.stop()
    assert plan is not None
    assert validate(DOMAIN, PROBLEM, plan).valid


def test_a_foreign_plan_becomes_the_plan_of_the_run(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = solve(DOMAIN, PROBLEM, iterations=1, time_limit=None).plan
    assert foreign is not None
    play(monkeypatch, posting(foreign))
    # Free decoding with random weights finds no plan.
    plans = improving_plans(DOMAIN, PROBLEM, model=model, time_limit=PATIENCE, threads=2)
    assert next(plans) == foreign
    plans.close()


def test_plans_go_round_but_not_back(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, posting(ROUND), SHORTENS)
    group = SearchGroup({}, 0, 3, Budget())
    group.start()
    try:
        wait_until(lambda: group.exchange.length == 2)
        assert group.exchange.take() == ROUND[1:]
        wait_until(lambda: {"iterations": 5} in group.counted())
    finally:
        group.stop()


def test_a_crash_is_logged_and_gives_its_memory_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    play(monkeypatch, ENDS, posting(ROUND))
    budget = Budget(memory_bytes=3 << 30)
    group = SearchGroup({}, 0, 3, budget)
    with caplog.at_level(logging.WARNING):
        group.start()
        try:
            wait_until(lambda: group.exchange.length == 3 and caplog.messages)
            assert caplog.messages == ["search 2 of 3 ended early: exit code 3"]
            assert budget.memory_bytes == 2 << 30
        finally:
            group.stop()
    assert budget.memory_bytes == 3 << 30


def test_a_search_at_its_memory_limit_ends_the_others_first(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, posting(ROUND))
    budget = Budget(memory_bytes=2 << 40)
    group = SearchGroup({}, 0, 2, budget)
    group.start()
    try:
        wait_until(lambda: group.exchange.length == 3)
        assert budget.memory_bytes == 1 << 40
        budget.memory_bytes -= 1 << 40
        assert not budget.exhausted()
        assert budget.memory_bytes == 1 << 40
    finally:
        group.stop()


def test_room_is_made_one_search_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, posting(ROUND), posting(ROUND))
    budget = Budget(memory_bytes=3 << 40)
    group = SearchGroup({}, 0, 3, budget)
    group.start()
    try:
        wait_until(lambda: budget.memory_bytes == 1 << 40)
        assert [(group.make_room(), budget.memory_bytes) for _ in range(3)] == [
            (True, 2 << 40),
            (True, 3 << 40),
            (False, 3 << 40),
        ]
    finally:
        group.stop()


@pytest.mark.parametrize("plan", [ROUND, ()])
def test_a_proof_by_one_search_ends_the_run(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    proves = f"import sys; sys.stdin.readline(); print('{json.dumps({'plan': plan, 'ending': 'exhausted'})}')"
    play(monkeypatch, proves)
    budget = Budget(PATIENCE)
    with search_group.searching_together({}, 0, 2, budget, Counters()) as exchange:
        wait_until(lambda: budget.exhausted())
        assert (exchange.take() or ()) == plan
    assert budget.ending is Ending.EXHAUSTED


def test_states_go_round_but_not_back(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SharedState(1.5, ROUND)
    sends = (
        f"import sys; sys.stdin.readline(); print('{json.dumps({'states': [found]})}', flush=True); sys.stdin.read()"
    )
    play(monkeypatch, sends, ECHOES)
    group = SearchGroup({}, 0, 3, Budget())
    group.start()
    try:
        wait_until(lambda: {"evaluated": 1} in group.counted())
        assert found in group.exchange.take_states()
        group.exchange.post_states([found, found])
        wait_until(lambda: {"evaluated": 2} in group.counted())
        assert group.exchange.take_states() == []
    finally:
        group.stop()


def test_a_search_that_reads_nothing_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, "import time; time.sleep(600)", ECHOES)
    group = SearchGroup({}, 0, 3, Budget())
    group.start()
    long = SharedState(1.0, ROUND * 20_000)
    try:
        for _ in range(20):
            group.exchange.post_states([long])

        def heard() -> bool:
            group.exchange.post_states([long, long])  # again and again: states may be dropped
            return {"evaluated": 2} in group.counted()

        wait_until(heard)
    finally:
        group.stop()


def test_a_search_that_ends_at_once_starts_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    left = play(monkeypatch, ENDS)
    monkeypatch.setattr(search_group, "PROOF_SECONDS", PATIENCE)
    group = SearchGroup({}, 0, 2, Budget())
    group.start()
    group.exchange.post(ROUND)
    group.stop()
    assert left == [ENDS]


def test_what_the_children_did_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, SHORTENS)
    counters, budget = Counters(iterations=1), Budget()
    with search_group.searching_together({}, 0, 2, budget, counters) as exchange:
        exchange.post(ROUND)
        wait_until(lambda: exchange.length == 2)
    assert counters.iterations == 6
    assert budget.make_room is None


def test_little_memory_means_fewer_searches() -> None:
    assert affordable_searches(8, 8 << 30) == 8
    assert affordable_searches(8, 1 << 30) == 2
    assert affordable_searches(8, 1 << 20) == 1


def test_each_search_has_a_seed_of_its_own() -> None:
    assert len({member_seed(seed, number) for seed in range(5) for number in range(1, 8)}) == 35
