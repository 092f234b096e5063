"""The search debugger of VS Code gets states, values and plans, and never holds up a search."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from oclgen.domains import catalog
from oclgen.errors import InputError
from oclgen.search.anytime import Counters
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.trajectories import add_plan
from oclgen.search_dump import SearchDump
from tests.toy import NumberLine

LINE = NumberLine(start=0, goal=12, size=20, stride=5)


class Debugger(ThreadingHTTPServer):
    """Keeps what is posted, and refuses what the extension's own reader would stumble over."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[str, Any]] = []
        self.known: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def paths(self) -> list[str]:
        return [path for path, _ in self.got]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Debugger

    def do_GET(self) -> None:
        self.server.got.append((self.path, None))
        self.answer(200)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.got.append((self.path, body))
        if self.path == "/state/heuristic":
            self.answer(200 if body["id"] in self.server.known and body["relaxedPlan"] == [] else 500)
            return
        if self.path != "/state/initial":
            assert body["parentId"] in self.server.known
            assert body["appliedAction"]["kind"] == "INSTANTANEOUS"
            assert len(body["planHead"]) == body["g"]
        self.server.known.add(body["id"])
        self.answer(201)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def debugger() -> Iterator[Debugger]:
    with Debugger() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def graph_with_plan(steps: int) -> SearchGraph:
    graph = SearchGraph(LINE.initial_state, LINE.is_goal, Counters())
    add_plan(graph, LINE, (("up",),) * steps)
    return graph


def test_states_values_and_the_plan_are_posted_in_an_order_that_can_be_read() -> None:
    with debugger() as server:
        dump = SearchDump(server.url)
        dump.watch(LINE, graph_with_plan(12))
        assert dump.finish(None) == "Search debugger: 13 state(s) posted, 0 left out."
        assert server.paths()[:2] == ["/about", "/state/initial"]
        assert server.paths().count("/state") == 12
        assert server.got[-1][0] == "/plan"
        assert [step["actionName"] for step in server.got[-1][1]["planHead"]] == ["up"] * 12


def test_beyond_the_bound_only_the_states_of_plans_are_posted() -> None:
    with debugger() as server:
        dump = SearchDump(server.url, most_states=4)
        dump.watch(LINE, graph_with_plan(12))
        assert dump.finish(None) == "Search debugger: 4 state(s) posted, 9 left out."
        assert server.got[-1][1]["g"] == 12


def test_a_debugger_that_does_not_answer_is_reported_and_nothing_else() -> None:
    dump = SearchDump("http://127.0.0.1:9")
    dump.watch(LINE, graph_with_plan(3))
    assert "no answer" in dump.finish(None)


@pytest.mark.parametrize("url", ["localhost:8888", "ftp://localhost", "http://", "file:///etc"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InputError, match="http://localhost:8888"):
        SearchDump(url)


def solve(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    spec = catalog.load("blocksworld")
    (folder / "domain.pddl").write_text(spec.domain_text)
    problem = catalog.draw(spec, 3, 0, catalog.overrides(spec, ["blocks=3"])).text
    (folder / "problem.pddl").write_text(problem)
    command = [sys.executable, "-m", "oclgen", "solve", "problem.pddl", "--overall-time-limit", "60s", *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_solve_posts_its_search_to_the_debugger(tmp_path: Path) -> None:
    with debugger() as server:
        done = solve(tmp_path, f"--search-tree-dump={server.url}")
        assert done.returncode == 0
        assert not done.stderr
        assert "Search debugger: " in done.stdout
        assert "/state/initial" in server.paths()
        assert "/state/heuristic" in server.paths()
        assert "/plan" in server.paths()


def test_methods_without_a_search_graph_refuse_the_option(tmp_path: Path) -> None:
    done = solve(tmp_path, "--search-tree-dump=http://localhost:1", "--method", "bfs")
    assert done.returncode == 36
    assert "--search-tree-dump needs method oclgen" in done.stderr


def test_the_initial_state_has_no_parent() -> None:
    from oclgen.search_dump import message

    assert "parentId" not in message(graph_with_plan(1), ROOT)
