"""Relational models on torch: the same rows, costs, scores and rollouts as on the compiled kernel."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from oclgen.errors import InputError
from oclgen.inference.checkpoint_policy import relational_policy
from oclgen.inference.devices import relational_model
from oclgen.inference.relational.encoded_states import RelationalModel
from oclgen.inference.relational.heuristic import RelationalHeuristic
from oclgen.pddl.task import PddlTask
from oclgen.relational_checkpoint import RelationalCheckpoint, load_relational
from tests.inference.relational.relational_models import random_walk
from tests.pddl.samples import SMALL, drawn
from tests.relational_folder import write_relational_checkpoint


def both(folder: Path, domain: str, **changes: Any) -> tuple[PddlTask, RelationalModel, RelationalModel]:
    text, problem = drawn(domain, 1)
    checkpoint = load_relational(write_relational_checkpoint(folder, text, **changes))
    native, by_torch = (relational_model(checkpoint, device) for device in ("cpu", "cpu-torch"))
    return PddlTask(text, problem), native, by_torch


def sessions(task: PddlTask, models: tuple[RelationalModel, ...], rows: list[int], capacity: int) -> list[Any]:
    states = random_walk(task, len(rows))
    return [model.engine.open(model.states(task).rows(states), rows, capacity) for model in models]


@pytest.mark.parametrize("distances", [True, False])
@pytest.mark.parametrize("domain", SMALL)
def test_rows_and_costs_are_those_of_the_kernel(domain: str, distances: bool, tmp_path: Path) -> None:
    task, native, by_torch = both(tmp_path / "model", domain, distances=distances, encoder_layers=2)
    states = random_walk(task, 5)
    one, other = (model.states(task).rows(states) for model in (native, by_torch))
    for left, right in zip(one, other, strict=True):
        assert np.abs(left.final[:, :16] - right.final.numpy()).max() < 1e-4  # type: ignore[attr-defined]
    assert np.allclose(native.engine.costs(one), by_torch.engine.costs(other), rtol=1e-4)


@pytest.mark.parametrize("domain", SMALL)
def test_scores_are_those_of_the_kernel_whatever_is_fed_and_kept(domain: str, tmp_path: Path) -> None:
    task, *models = both(tmp_path / "model", domain, decoder_layers=2)
    graph = models[0].states(task).graph
    actions = [graph.tokens(action) for action in task.applicable(task.initial_state)][:3]
    opened = sessions(task, tuple(models), [2, 3], 30)

    def compare() -> None:
        native, by_torch = (session.probabilities() for session in opened)
        assert native.shape == by_torch.shape == (len(native), opened[0].vocabulary)
        assert opened[0].vocabulary == opened[1].vocabulary
        assert np.abs(native - by_torch).max() < 1e-4

    compare()
    pieces = [actions[row % len(actions)][: 1 + row] for row in range(5)]
    counts = np.array([len(piece) for piece in pieces], np.int32)
    tokens = np.array([token for piece in pieces for token in piece], np.int32)
    for session in opened:
        session.feed(tokens, counts)
    compare()
    for session in opened:
        session.keep(np.array([0, 2, 2, 4], np.int32))
    compare()
    rest = [actions[row % len(actions)][1 + row :] + actions[0] for row in (0, 2, 2, 4)]
    tokens = np.array([token for each in rest for token in each], np.int32)
    for session in opened:
        session.feed(tokens, np.array([len(each) for each in rest], np.int32))
    compare()
    allowed = np.zeros((4, opened[0].vocabulary), np.bool_)
    allowed[:, :2] = True
    uniform = np.array([0.1, 0.4, 0.6, 0.9], np.float32)
    for temperature in (0.0, 0.5, 1.0):
        (one, chosen), (other, likewise) = (session.sample(uniform, temperature, allowed) for session in opened)
        assert one.tolist() == other.tolist() and np.allclose(chosen, likewise, atol=1e-4)


def test_rollouts_and_estimates_are_those_of_the_kernel(tmp_path: Path) -> None:
    task, *models = both(tmp_path / "model", "logistics")
    results = [
        relational_policy(model, decoding="applicable").rollouts(task, random_walk(task, 3), 4, random.Random(4))
        for model in models
    ]
    actions = [[[step.action for step in rollout] for group in result for rollout in group] for result in results]
    assert actions[0] == actions[1]
    costs = [RelationalHeuristic(model, percentile=30).estimate(task, random_walk(task, 9)) for model in models]
    assert costs[0] == costs[1]


def test_tokens_that_cannot_stand_there_are_refused(tmp_path: Path) -> None:
    task, _, model = both(tmp_path / "model", "blocksworld", max_plan=4)
    first = model.checkpoint.schema.first_row
    operator = model.checkpoint.schema.operator_ids["stack"]
    for tokens in ([first], [operator, operator], [operator, first + 99], [model.checkpoint.schema.end]):
        [session] = sessions(task, (model,), [1], 4)
        with pytest.raises(ValueError, match="cannot stand"):
            session.feed(np.array(tokens, np.int32), np.array([len(tokens)], np.int32))
    [session] = sessions(task, (model,), [1], 4)
    tokens = [operator, first, first, operator]
    with pytest.raises(ValueError, match="positions"):
        session.feed(np.array(tokens, np.int32), np.array([4], np.int32))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_gpu_is_said_in_one_line(tmp_path: Path) -> None:
    checkpoint: RelationalCheckpoint = load_relational(
        write_relational_checkpoint(tmp_path / "model", drawn("blocksworld", 0)[0])
    )
    with pytest.raises(InputError, match="no GPU here"):
        relational_model(checkpoint, "cuda")
