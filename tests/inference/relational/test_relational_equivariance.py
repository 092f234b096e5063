"""Objects in another order and under other names: rows, costs and token scores follow them, on torch and the kernel."""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oclgen.encoding.relational import ProblemGraph, schema_of
from oclgen.interfaces import Action, Atom
from oclgen.learn.networks.relational import RelationalNetwork
from oclgen.pddl.task import PddlTask
from tests.inference.relational.relational_models import draw_task, engine_of, random_network, random_walk, torch_batch
from tests.pddl.random_domains import random_domain
from tests.pddl.samples import SMALL, drawn

TOLERANCE = 1e-5
quick = settings(max_examples=8, deadline=None, derandomize=True, database=None)


@dataclass(frozen=True)
class View:
    """One state of a problem: what a problem graph reads, the atoms, and an action to write."""

    objects: dict[str, str]
    static_atoms: frozenset[Atom]
    goal: tuple[frozenset[Atom], frozenset[Atom]]
    state: frozenset[Atom]
    action: Action | None

    def renamed(self, names: dict[str, str], order: list[str]) -> "View":
        def atoms(given: frozenset[Atom]) -> frozenset[Atom]:
            return frozenset((atom[0], *(names[each] for each in atom[1:])) for atom in given)

        return View(
            {names[each]: self.objects[each] for each in order},
            atoms(self.static_atoms),
            (atoms(self.goal[0]), atoms(self.goal[1])),
            atoms(self.state),
            self.action and (self.action[0], *(names[each] for each in self.action[1:])),
        )


def view(task: PddlTask, steps: int, seed: int) -> View:
    """A state on a random walk, which stops where nothing is applicable."""
    rng, state = random.Random(seed), task.initial_state
    for _ in range(steps):
        if actions := task.applicable(state):
            state = task.apply(state, rng.choice(actions))
    actions = task.applicable(state)
    action = rng.choice(actions) if actions else None
    return View(dict(task.objects), task.static_atoms, task.goal, frozenset(task.atoms(state)), action)


def outputs(network: RelationalNetwork, graph: ProblemGraph, seen: View) -> list[tuple[Any, Any, Any]]:
    """Rows, costs and the scores at each place of the action, on torch and on the kernel."""
    atoms = graph.atoms(seen.state)
    tokens = graph.tokens(seen.action) if seen.action else []
    with torch.inference_mode():
        rows, there = network.encode(torch_batch(graph, [atoms]))
        costs = torch.cat(network.cost(rows, there)).numpy()
        plan = torch.tensor([[*tokens, 0]])
        operators, pointers = network.decode(rows, there, plan, torch.arange(len(tokens) + 1)[None])
    by_torch = torch.cat([operators.softmax(2), pointers[:, :, :-1].softmax(2)], 2)[0]
    engine = engine_of(network, graph.schema)
    [encoded] = engine.encode(graph, [atoms])
    session = engine.open([encoded], [1], len(tokens) + 1)
    scores = [session.probabilities()[0]]
    for token in tokens:
        session.feed(np.array([token], np.int32))
        scores.append(session.probabilities()[0])
    final = encoded.final[:, : network.settings.width]
    return [(rows[0].numpy(), costs, by_torch.numpy()), (final, engine.costs([encoded])[0], np.stack(scores))]


def check(task: PddlTask, seen: View, seed: int) -> None:
    schema, rng = schema_of(task.info.domain), random.Random(seed)
    network = random_network(schema, relations=schema.all_relations(), distances=True)
    order = rng.sample(list(seen.objects), len(seen.objects))
    fresh = iter(rng.sample(range(1000), len(order)))
    names = {each: each if each in schema.constants else f"n{next(fresh)}" for each in seen.objects}
    other_view = seen.renamed(names, order)
    graph = ProblemGraph(schema, network.settings.relations, seen, True)
    place = [*(graph.rows[each] for each in order), graph.size - 1]
    other = ProblemGraph(schema, network.settings.relations, other_view, True, graph.noise[place])
    moved = [*range(schema.first_row), *(schema.first_row + row for row in place[:-1])]
    results = outputs(network, graph, seen), outputs(network, other, other_view)
    for (rows, costs, scores), (other_rows, other_costs, other_scores) in zip(*results, strict=True):
        assert np.allclose(rows[place], other_rows, atol=TOLERANCE, rtol=TOLERANCE)
        assert np.allclose(costs, other_costs, rtol=TOLERANCE)
        assert np.allclose(scores[:, moved], other_scores, atol=TOLERANCE)


@pytest.mark.parametrize("domain", SMALL)
@quick
@given(st.integers(0, 5), st.integers(0, 8), st.integers(0, 2**16))
def test_scores_follow_the_objects_of_a_domain(domain: str, index: int, steps: int, seed: int) -> None:
    task = PddlTask(*drawn(domain, index))
    check(task, view(task, steps, seed), seed)


@settings(quick, max_examples=25)
@given(st.integers(0, 2**32), st.integers(0, 4))
def test_scores_follow_the_objects_of_random_domains(seed: int, steps: int) -> None:
    task = PddlTask(*random_domain(random.Random(seed)))
    check(task, view(task, steps, seed), seed)


def test_a_problem_ten_times_larger_than_any_in_training_runs() -> None:
    small, large = draw_task("blocksworld", "blocks=5"), draw_task("blocksworld", "blocks=50")
    schema = schema_of(small.info.domain)
    network = random_network(schema)
    engine = engine_of(network, schema)
    graph = ProblemGraph(schema, network.settings.relations, large, True)
    encoded = engine.encode(graph, [graph.atoms(large.atoms(state)) for state in random_walk(large, 4)])
    assert np.isfinite(engine.costs(encoded)).all() and len(encoded[0].final) == 51
    session = engine.open(encoded, [2] * 4, 4)
    session.feed(np.full(8, schema.operator_ids["stack"], np.int32))
    assert np.allclose(session.probabilities()[:, schema.first_row :].sum(1), 1.0, atol=1e-5)
