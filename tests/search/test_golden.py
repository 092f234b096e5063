"""Searches with scripted models, recorded in full: any change of behaviour shows as a difference.

Each file of tests/golden has a method, a task, a script for the policy, a table for the heuristic and the settings, and
under `result` what the search did. `python -m tests.search.test_golden` writes the results again; read the difference.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oclgen.interfaces import Action, Step
from oclgen.search import METHODS
from oclgen.search.baselines import mcts
from oclgen.search.baselines.mcts import TreeNode
from tests.search.invariants import CheckedGraph, keep_graphs
from tests.search.running import solve
from tests.toy import DigraphTask, ScriptedPolicy, TableHeuristic

GOLDEN = Path(__file__).parent.parent / "golden"
CASES = {path.name: json.loads(path.read_text()) for path in sorted(GOLDEN.glob("*.json"))}


def method_of(case: dict[str, Any]) -> str:
    return str(case.get("method", "oclgen"))


def task_of(case: dict[str, Any]) -> DigraphTask:
    edges = {int(source): tuple(targets) for source, targets in case["edges"].items()}
    return DigraphTask(edges, frozenset(case["goals"]), ground_action_bound=1)


def policy_of(case: dict[str, Any]) -> ScriptedPolicy:
    """A rollout is a list of pairs, vertex and confidence; a prior belongs to a vertex too."""
    script = {
        int(state): [tuple(Step(("go", str(target)), confidence) for target, confidence in rollout) for rollout in many]
        for state, many in case["policy"].items()
    }
    priors: dict[int, dict[Action, float]] = {
        int(state): {("go", target): weight for target, weight in weights.items()}
        for state, weights in case.get("priors", {}).items()
    }
    return ScriptedPolicy(script, priors)


def perform(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    graphs, paths = keep_graphs(monkeypatch, "oclgen", "baselines.best_first"), keep_paths(monkeypatch)
    heuristic = TableHeuristic({int(state): h for state, h in case["heuristic"].items()})
    settings = replace(METHODS[method_of(case)].settings, **case["settings"])
    found = solve(
        task_of(case), policy_of(case), heuristic, settings, method=method_of(case), iterations=case["iterations"]
    )
    selected = [graph.state(node) for graph in graphs for node in graph.selected]
    return {
        "selected": selected if graphs else [[node.state for node in path] for path in paths],
        "lengths": [length for _, length in found.trace],
        "plan": [int(action[1]) for action in found.plan or ()],
        "ending": found.ending.value,
        "nodes": graph_nodes(graphs[0]) if graphs else tree_nodes(paths),
        "counters": found.counters.as_dict(),
    }


def keep_paths(monkeypatch: pytest.MonkeyPatch) -> list[list[TreeNode]]:
    """The paths that MCTS descends from now on."""
    paths: list[list[TreeNode]] = []
    descend = mcts.descend

    def keep(*arguments: Any) -> list[TreeNode]:
        paths.append(descend(*arguments))
        return paths[-1]

    monkeypatch.setattr(mcts, "descend", keep)
    return paths


def graph_nodes(graph: CheckedGraph) -> dict[str, Any]:
    return {str(graph.state(node)): describe(graph, node) for node in range(len(graph))}


def describe(graph: CheckedGraph, node: int) -> dict[str, Any]:
    marks = ("goal", graph.is_goal(node)), ("open", graph.is_open(node)), ("expanded", graph.is_expanded(node))
    path = [int(action[1]) for _, action in graph.path(node)]
    value = {"h": graph.h(node), "own": graph.is_evaluated(node)}
    return {"g": graph.g(node), **value, "path": path, "marks": [name for name, holds in marks if holds]}


def tree_nodes(paths: list[list[TreeNode]]) -> dict[str, Any]:
    """The nodes of a search tree under the states of their paths."""
    nodes = {"-".join(str(node.state) for node in path): path[-1] for path in paths}
    return {
        name: {
            "prior": round(node.prior, 9),
            "visits": node.visits,
            "successes": round(node.successes, 9),
            "lengths": round(node.lengths, 9),
            "closed": node.closed,
            "untried": None if node.untried is None else [int(action[1]) for _, action in node.untried],
        }
        for name, node in nodes.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_a_scripted_search_does_what_its_golden_file_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert perform(CASES[name], monkeypatch) == CASES[name]["result"]


def test_every_method_has_a_golden_file() -> None:
    assert {method_of(case) for case in CASES.values()} == set(METHODS)


def write() -> None:
    for name, case in CASES.items():
        with pytest.MonkeyPatch.context() as monkeypatch:
            case["result"] = perform(case, monkeypatch)
        lines = [f" {json.dumps(key)}: {written(value)}" for key, value in case.items()]
        (GOLDEN / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def written(value: Any) -> str:
    """JSON with one line per entry of the two outer levels."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    inner = [f"  {json.dumps(key)}: {nested(part)}" for key, part in value.items()]
    return "{\n" + ",\n".join(inner) + "\n }"


def nested(value: Any) -> str:
    if not isinstance(value, dict) or not any(isinstance(part, dict) for part in value.values()):
        return json.dumps(value)
    inner = [f"   {json.dumps(key)}: {json.dumps(part)}" for key, part in value.items()]
    return "{\n" + ",\n".join(inner) + "\n  }"


if __name__ == "__main__":
    write()
