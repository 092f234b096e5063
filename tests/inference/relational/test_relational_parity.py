"""The relational engine against the network that is trained, on states of all domains; objects in any order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from oclgen.encoding.relational import ProblemGraph, schema_of
from oclgen.inference.relational.engine import RelationalEngine
from oclgen.pddl.task import PddlTask
from tests.inference.relational.relational_models import (
    draw_task,
    engine_of,
    graph_of,
    random_network,
    random_walk,
    torch_batch,
)

TASKS = {
    "blocksworld": ("blocks=7",),
    "logistics": ("cities=3", "city_size=3", "packages=4", "airplanes=2"),
    "sokoban": ("grid=8", "boxes=2", "walls=2"),
    "labyrinth": ("size=3",),
}
SIZES = {"width": 48, "heads": 3, "inner": 100, "relation": 20, "encoder_layers": 3}


def walked_plan(task: PddlTask, graph: ProblemGraph, length: int) -> list[list[int]]:
    """Tokens of the first applicable actions, one after the other, and how far each is into its action."""
    tokens: list[int] = []
    due: list[int] = []
    state = task.initial_state
    while len(tokens) < length:
        action = task.applicable(state)[-1]
        tokens += graph.tokens(action)
        due += range(len(action))
        following = task.apply(state, action)
        assert following is not None
        state = following
    return [tokens[:length], due[:length]]


def token_probabilities(choices: Any, pointers: Any, due: list[int]) -> Any:
    """[places, tokens] as the engine numbers them: operators and the end, then all objects."""
    objects = pointers.shape[1] - 1
    rows = []
    for choice, pointer, place in zip(choices.softmax(-1), pointers.softmax(-1), due, strict=True):
        nothing = torch.zeros(objects if place == 0 else len(choice))
        rows.append(torch.cat([choice, nothing] if place == 0 else [nothing, pointer[:objects]]))
    return torch.stack(rows).numpy()


@pytest.mark.parametrize("distances", [True, False])
@pytest.mark.parametrize("domain", TASKS)
def test_every_head_is_that_of_the_network(domain: str, distances: bool) -> None:
    task = draw_task(domain, *TASKS[domain])
    schema = schema_of(task.info.domain)
    network = random_network(schema, distances=distances, **SIZES)
    engine, graph = engine_of(network, schema), graph_of(task, network)
    states = [graph.atoms(task.atoms(state)) for state in random_walk(task, 5)]
    plan, due = walked_plan(task, graph, 12)
    with torch.inference_mode():
        rows, there = network.encode(torch_batch(graph, states))
        costs = torch.stack(network.cost(rows, there), 1).numpy()
        choices, pointers = network.decode(
            rows, there, torch.tensor([plan] * 5, dtype=torch.long), torch.tensor([due] * 5, dtype=torch.long)
        )
    encoded = engine.encode(graph, states)
    for expected, actual in zip(rows.numpy(), encoded, strict=True):
        assert np.abs(actual.final[:, : network.settings.width] - expected).max() < 1e-4
    assert np.allclose(engine.costs(encoded), costs, rtol=1e-4, atol=1e-4)
    session = engine.open(encoded, [1] * 5, len(plan))
    for step, token in enumerate(plan):
        expected = [token_probabilities(choices[i], pointers[i], due)[step] for i in range(5)]
        assert np.abs(session.probabilities() - np.stack(expected)).max() < 1e-4
        session.feed(np.full(5, token, np.int32))


@dataclass(frozen=True)
class Enlarged:
    """A problem of any size."""

    kinds: Any
    noise: Any
    distances: Any


class Reordered:
    """A task whose objects come in another order."""

    def __init__(self, task: PddlTask, order: list[int]) -> None:
        names = list(task.objects)
        self.objects = {names[i]: task.objects[names[i]] for i in order}
        self.static_atoms, self.goal = task.static_atoms, task.goal


def scores(engine: RelationalEngine, graph: ProblemGraph, task: PddlTask, tokens: list[int]) -> tuple[Any, Any]:
    [rows] = engine.encode(graph, [graph.atoms(task.atoms(task.initial_state))])
    session = engine.open([rows], [1], len(tokens))
    session.feed(np.array(tokens, np.int32), np.array([len(tokens)], np.int32))
    return engine.costs([rows])[0], session.probabilities()[0]


@pytest.mark.parametrize("domain", TASKS)
def test_scores_follow_the_objects_when_they_are_reordered(domain: str) -> None:
    task = draw_task(domain, *TASKS[domain], seed=1)
    schema = schema_of(task.info.domain)
    network = random_network(schema, **SIZES)
    engine, graph = engine_of(network, schema), graph_of(task, network)
    action = task.applicable(task.initial_state)[0]
    order = np.random.default_rng(0).permutation(len(task.objects)).tolist()
    noise = graph.noise[[*order, len(order)]]
    other = ProblemGraph(schema, network.settings.relations, Reordered(task, order), True, noise)
    for length in range(1, len(action) + 1):
        cost, row = scores(engine, graph, task, graph.tokens(action)[:length])
        other_cost, other_row = scores(engine, other, task, other.tokens(action)[:length])
        assert np.allclose(cost, other_cost, rtol=1e-4)
        first = schema.first_row
        assert np.allclose(row[:first], other_row[:first], atol=1e-4)
        assert np.allclose(row[first:][order], other_row[first:], atol=1e-4)


def test_a_problem_of_a_thousand_rows_runs() -> None:
    task = draw_task("blocksworld", "blocks=5")
    schema = schema_of(task.info.domain)
    network = random_network(schema)
    engine, graph = engine_of(network, schema), graph_of(task, network)
    rng = np.random.default_rng(0)
    rows = 1001
    large = Enlarged(
        kinds=rng.choice(graph.kinds, rows),
        noise=rng.normal(size=(rows, 16)).astype(np.float32),
        distances=rng.integers(0, 33, (rows, rows)).astype(np.int8),
    )
    atoms = [rng.integers(0, rows, (500, each.shape[1]), np.int32) for each in graph.atoms([])]
    encoded = engine.encode(large, [atoms])
    session = engine.open(encoded, [3], 4)
    operator = int(np.argmax(schema.operator_arities))
    session.feed(np.full(3, operator, np.int32))
    probabilities = session.probabilities()
    assert probabilities.shape == (3, schema.first_row + 1000)
    assert np.allclose(probabilities[:, schema.first_row :].sum(1), 1.0, atol=1e-5)
