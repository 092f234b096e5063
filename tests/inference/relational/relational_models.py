"""Relational networks with random weights on real domains: the same states for torch and for the engine."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oclgen.domains import catalog
from oclgen.encoding.relational import ProblemGraph, Schema, schema_of
from oclgen.inference.relational.atoms import Atoms
from oclgen.inference.relational.engine import RelationalEngine
from oclgen.inference.relational.weights import SchemaCounts
from oclgen.interfaces import State
from oclgen.learn.networks.relational import RelationalNetwork
from oclgen.pddl.task import PddlTask
from oclgen.relational_checkpoint import RelationalSettings


def draw_task(domain: str, *settings: str, seed: int = 0) -> PddlTask:
    spec = catalog.load(domain)
    return PddlTask(spec.domain_text, catalog.draw(spec, seed, 0, catalog.overrides(spec, settings)).text)


def random_walk(task: PddlTask, length: int, seed: int = 0) -> list[State]:
    """States along actions drawn at random, the first one included; after a dead end the start again."""
    rng, states = random.Random(seed), [task.initial_state]
    while len(states) < length:
        actions = task.applicable(states[-1])
        following = task.apply(states[-1], rng.choice(actions)) if actions else task.initial_state
        assert following is not None
        states.append(following)
    return states


def random_network(schema: Schema, seed: int = 0, **sizes: Any) -> RelationalNetwork:
    """Weights for all relations, biases and distances that are not zero."""
    shape = {"width": 32, "heads": 2, "inner": 64, "relation": 16, "encoder_layers": 2, "decoder_layers": 2}
    relations = tuple(each for each in schema.all_relations() if each[1] < 3)
    values: dict[str, Any] = {"max_plan": 40, "relations": relations, "distances": True} | shape | sizes
    torch.manual_seed(seed)
    network = RelationalNetwork(RelationalSettings(**values), schema).eval()
    with torch.no_grad():
        for name, value in network.named_parameters():
            if value.ndim == 1 or name.startswith("distance"):
                value.add_(torch.randn_like(value) * 0.3)
    return network


def counts_of(network: RelationalNetwork, schema: Schema) -> SchemaCounts:
    arities = tuple(schema.relation_arity(name) for name, _ in network.settings.relations)
    return SchemaCounts(arities, schema.operator_arities, schema.kind_count)


def engine_of(network: RelationalNetwork, schema: Schema, threads: int = 1) -> RelationalEngine:
    weights = {name: value.detach().numpy() for name, value in network.state_dict().items()}
    return RelationalEngine(network.settings, counts_of(network, schema), weights, threads=threads)


def graph_of(task: PddlTask, network: RelationalNetwork) -> ProblemGraph:
    return ProblemGraph(schema_of(task.info.domain), network.settings.relations, task, network.settings.distances)


def torch_batch(graph: ProblemGraph, states: Sequence[Atoms]) -> dict[str, Tensor]:
    """States of one problem as the network wants them."""
    count, rows = len(states), graph.size
    first = np.arange(count) * rows
    place = np.arange(count * rows).reshape(count, rows)
    batch: dict[str, Any] = {"kinds": np.tile(graph.kinds, count), "noise": np.tile(graph.noise, (count, 1))}
    batch |= {"place": place, "back": place.reshape(-1), "prompt_len": np.full(count, rows)}
    degree = np.zeros(count * rows)
    for i, parts in enumerate(zip(*states, strict=True)):
        batch[f"atoms.{i}"] = np.concatenate([part + base for part, base in zip(parts, first, strict=True)])
        degree += np.bincount(batch[f"atoms.{i}"].reshape(-1).astype(int), minlength=len(degree))
    batch["scale"] = (1.0 / np.sqrt(np.maximum(degree, 1.0))).astype(np.float32)
    if graph.distances is not None:
        batch["distances"] = np.tile(graph.distances, (count, 1, 1))
    tensors = {name: torch.tensor(array) for name, array in batch.items()}
    return {name: tensor if tensor.is_floating_point() else tensor.long() for name, tensor in tensors.items()}
