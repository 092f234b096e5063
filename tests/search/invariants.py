"""Invariants of the search graph, checked by brute force; `CheckedGraph` checks them after every operation."""

from collections import deque
from collections.abc import Callable
from typing import Any

from oclgen.interfaces import Action, State, Task
from oclgen.search.anytime import Counters
from oclgen.search.graph import ROOT, Order, SearchGraph


def shortest_paths(graph: SearchGraph) -> dict[int, int]:
    """The distance of every node from the root over the recorded transitions, by plain breadth-first search."""
    found = {ROOT: 0}
    queue = deque([ROOT])
    while queue:
        node = queue.popleft()
        for target, _ in graph.transitions(node):
            if target not in found:
                found[target] = found[node] + 1
                queue.append(target)
    return found


def check_invariants(graph: SearchGraph, task: Task, order: Order = "depth") -> None:
    nodes = range(len(graph))
    assert {node: graph.g(node) for node in nodes} == shortest_paths(graph)
    assert graph.deepest == max(graph.g(node) for node in nodes)
    for node in nodes:
        assert graph.node(graph.state(node)) == node
        check_path(graph, task, node)
        check_transitions(graph, task, node)
    check_open_lists(graph, order)
    check_best_plan(graph, task)


def check_path(graph: SearchGraph, task: Task, node: int) -> None:
    path = graph.path(node)
    assert len(path) == graph.g(node)
    state: State | None = task.initial_state
    for at, action in path:
        assert state == graph.state(at)
        assert state is not None
        state = task.apply(state, action)
    assert state == graph.state(node)


def check_transitions(graph: SearchGraph, task: Task, node: int) -> None:
    known = list(graph.transitions(node))
    assert len(known) == len(set(known))
    for target, action in known:
        assert task.apply(graph.state(node), action) == graph.state(target)
    if graph.is_expanded(node):
        successors = {task.apply(graph.state(node), action) for action in task.applicable(graph.state(node))}
        assert successors == {graph.state(target) for target, _ in known}


def check_open_lists(graph: SearchGraph, order: Order) -> None:
    entries = graph.open_nodes()
    nodes = [node for _, node in entries]
    assert len(nodes) == len(set(nodes)), "a node is in two lists"
    assert set(nodes) == {node for node in range(len(graph)) if graph.is_open(node)}
    assert all(depth == (graph.g(node) if order == "depth" else 0) for depth, node in entries)
    assert graph.open_depths == sorted({depth for depth, _ in entries})
    assert not any(graph.is_goal(node) for node in nodes)


def check_best_plan(graph: SearchGraph, task: Task) -> None:
    goals = [node for node in range(len(graph)) if task.is_goal(graph.state(node))]
    assert goals == [node for node in range(len(graph)) if graph.is_goal(node)]
    assert graph.best_length == min((graph.g(node) for node in goals), default=None)
    if goals:
        assert len(graph.get_best_plan()) == graph.best_length


class CheckedGraph(SearchGraph):
    """A search graph that checks itself after every operation and records which nodes were selected."""

    def __init__(
        self, initial_state: State, is_goal: Callable[[State], bool], counters: Counters, order: Order = "depth"
    ) -> None:
        super().__init__(initial_state, is_goal, counters, order)
        self.task: Task = is_goal.__self__  # type: ignore[attr-defined]
        self.selected: list[int] = []
        self.check()

    def check(self) -> None:
        check_invariants(self, self.task, self._order)

    def add(self, parent: int, action: Action, state: State, h: float, evaluated: bool) -> int:
        node = super().add(parent, action, state, h, evaluated)
        self.check()
        return node

    def connect(self, parent: int, action: Action, node: int) -> None:
        super().connect(parent, action, node)
        self.check()

    def revalue(self, node: int, h: float, evaluated: bool) -> None:
        super().revalue(node, h, evaluated)
        self.check()

    def extract(self, depth: int, horizon: int | None = None) -> int | None:
        before = [(self.h(node), node) for list_of, node in self.open_nodes() if list_of == depth]
        node = super().extract(depth, horizon)
        self.check()
        if node is not None:
            self.selected.append(node)
            if self._order != "f" and horizon is None:
                assert self.h(node) == min(before)[0]
        return node

    def close_expanded(self, node: int, complete: bool) -> None:
        super().close_expanded(node, complete)
        assert not self.is_open(node)
        self.check()

    def revive(self) -> int:
        revived = super().revive()
        self.check()
        return revived


def keep_graphs(monkeypatch: Any, *modules: str) -> list[CheckedGraph]:
    """Make the searches of these modules use checked graphs; the list collects the graphs they create."""
    graphs: list[CheckedGraph] = []

    def make(*arguments: Any) -> CheckedGraph:
        graphs.append(CheckedGraph(*arguments))
        return graphs[-1]

    for module in modules:
        monkeypatch.setattr(f"oclgen.search.{module}.SearchGraph", make)
    return graphs
