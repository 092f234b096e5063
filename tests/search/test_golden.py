"""Searches with scripted models, written down in full: any change of behaviour shows as a difference.

Each file of tests/golden has a task, a script for the policy, a table for the heuristic and the settings, and under
`result` what the search did. `python -m tests.search.test_golden` writes the results anew; read the difference.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from oclgen.interfaces import State, Step, Task
from oclgen.search.settings import OclgenSettings
from tests.search.invariants import CheckedGraph, keep_graphs
from tests.search.running import solve
from tests.toy import DigraphTask, ScriptedPolicy

GOLDEN = Path(__file__).parent.parent / "golden"
CASES = sorted(path.name for path in GOLDEN.glob("oclgen-*.json"))


@dataclass
class Table:
    values: dict[str, float]

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        return [self.values[str(state)] for state in states]


def task_of(case: dict[str, Any]) -> DigraphTask:
    edges = {int(source): tuple(targets) for source, targets in case["edges"].items()}
    return DigraphTask(edges, frozenset(case["goals"]), ground_action_bound=1)


def policy_of(case: dict[str, Any]) -> ScriptedPolicy:
    """A rollout is written as pairs of the vertex gone to and the confidence of that step."""
    script = {
        int(state): [tuple(Step(("go", str(target)), confidence) for target, confidence in rollout) for rollout in many]
        for state, many in case["policy"].items()
    }
    return ScriptedPolicy(script)


def perform(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    graphs = keep_graphs(monkeypatch, "oclgen")
    settings = OclgenSettings(**case["settings"])
    found = solve(
        task_of(case), policy_of(case), Table(case["heuristic"]), settings, iterations=case["iterations"], seed=0
    )
    [graph] = graphs
    return {
        "selected": [graph.state(node) for node in graph.selected],
        "lengths": [length for _, length in found.trace],
        "plan": [int(action[1]) for action in found.plan or ()],
        "ending": found.ending.value,
        "nodes": {str(graph.state(node)): describe(graph, node) for node in range(len(graph))},
        "counters": found.counters.as_dict(),
    }


def describe(graph: CheckedGraph, node: int) -> dict[str, Any]:
    marks = ("goal", graph.is_goal(node)), ("open", graph.is_open(node)), ("expanded", graph.is_expanded(node))
    path = [int(action[1]) for _, action in graph.path(node)]
    value = {"h": graph.h(node), "own": graph.is_evaluated(node)}
    return {"g": graph.g(node), **value, "path": path, "marks": [name for name, holds in marks if holds]}


@pytest.mark.parametrize("name", CASES)
def test_a_scripted_search_goes_as_written_down(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = json.loads((GOLDEN / name).read_text())
    assert perform(case, monkeypatch) == case["result"]


def write() -> None:
    for name in CASES:
        case = json.loads((GOLDEN / name).read_text())
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
