"""What VS Code's search debugger shows: states, values and plans of a running search, posted over HTTP.

A thread of its own reads the search graph, which only grows and whose paths always lead to the initial state, and
posts what is new. The search never waits for it: it does not know of the thread. The number of states is bounded; what
is beyond the bound, or not posted when the search ends, is counted and left out.
"""

import http.client
import json
import threading
from collections.abc import Iterator
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

from oclgen.errors import InputError
from oclgen.interfaces import Action, Task
from oclgen.search.graph import ROOT, SearchGraph

MOST_STATES = 5_000
ANSWER_SECONDS = 2.0
LOOK_SECONDS = 0.05
LAST_SECONDS = 1.0
"""How long the end of a search waits for what is still to be posted, if its time limit leaves as much."""


class SearchDump:
    """Posts the graph of one search to a debugger at `http://host:port`."""

    def __init__(self, url: str, most_states: int = MOST_STATES) -> None:
        address = urlsplit(url)
        if address.scheme != "http" or not address.hostname:
            raise InputError(f"--search-tree-dump needs a URL like http://localhost:8888, not {url!r}")
        self.url = url
        self.posted = 0
        self._connection = http.client.HTTPConnection(address.hostname, address.port or 80, timeout=ANSWER_SECONDS)
        self._most = most_states
        self._finished = threading.Event()
        self._thread: threading.Thread | None = None
        self._graph: SearchGraph | None = None
        self._shown: int | None = None
        self._failure: str | None = None

    def watch(self, _task: Task, graph: SearchGraph) -> None:
        """Post this graph from now on."""
        self._graph = graph
        self._thread = threading.Thread(target=self._run, args=(graph,), daemon=True)
        self._thread.start()

    def finish(self, seconds_left: float | None) -> str:
        """Wait a moment for what is left to post; one line about what was posted."""
        self._finished.set()
        if self._thread is not None:
            wait = LAST_SECONDS if seconds_left is None else min(LAST_SECONDS, seconds_left)
            self._thread.join(max(0.0, wait))
        if self._failure is not None:
            return f"Search debugger: {self.url}: {self._failure}"
        left = 0 if self._graph is None else len(self._graph) - self.posted
        return f"Search debugger: {self.posted} state(s) posted, {left} left out."

    def _run(self, graph: SearchGraph) -> None:
        try:
            self._send("GET", "/about")
            while not self._finished.wait(LOOK_SECONDS):
                self._post_news(graph)
            self._post_news(graph)
        except (OSError, http.client.HTTPException) as error:
            self._failure = f"no answer ({error})"
        finally:
            self._connection.close()

    def _post_news(self, graph: SearchGraph) -> None:
        for node in range(self.posted, min(len(graph), self._most)):
            self._send("POST", "/state" if node != ROOT else "/state/initial", message(graph, node))
            if node != ROOT and isfinite(graph.h(node)):
                self._send("POST", "/state/heuristic", evaluation(graph, node))
            self.posted = node + 1
        length = graph.best_length
        if length is not None and length != self._shown and graph.best_goal is not None:
            self._post_plan(graph, graph.best_goal)
            self._shown = length

    def _post_plan(self, graph: SearchGraph, goal: int) -> None:
        """The states of a plan, as far as the bound had left them out, and the plan itself."""
        for node in (*(node for node, _ in graph.path(goal)), goal):
            if node >= self.posted:
                self._send("POST", "/state", message(graph, node))
        self._send("POST", "/plan", message(graph, goal))

    def _send(self, verb: str, path: str, body: dict[str, Any] | None = None) -> None:
        text = None if body is None else json.dumps(body)
        self._connection.request(verb, path, text, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        answer.read()
        if answer.status >= 400:
            raise http.client.HTTPException(f"status {answer.status} for {path}")


def message(graph: SearchGraph, node: int) -> dict[str, Any]:
    """A state as the debugger expects it: its number, its parent's, and the actions that lead to it."""
    path = graph.path(node)
    found: dict[str, Any] = {"id": str(node), "g": len(path), "earliestTime": len(path), "satisfiedLandmarks": 0}
    found |= {"planHead": list(happenings([action for _, action in path]))}
    if path:
        found |= {"parentId": str(path[-1][0]), "appliedAction": found["planHead"][-1]}
    return found


def evaluation(graph: SearchGraph, node: int) -> dict[str, Any]:
    h = graph.h(node)
    return {"id": str(node), "h": h, "totalMakespan": graph.g(node) + h, "helpfulActions": [], "relaxedPlan": []}


def happenings(actions: list[Action]) -> Iterator[dict[str, Any]]:
    for time, action in enumerate(actions):
        yield {
            "actionName": " ".join(action),
            "earliestTime": time,
            "shotCounter": 0,
            "iterations": 1,
            "kind": "INSTANTANEOUS",
        }
