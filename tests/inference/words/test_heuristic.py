"""Estimates summarise distributions exactly as defined."""

from collections.abc import Sequence

import numpy as np
import pytest

from oclgen.errors import InputError
from oclgen.inference.engine import FloatArray, IntArray
from oclgen.inference.words import heuristic as heuristic_module
from oclgen.inference.words.heuristic import ModelHeuristic, percentile
from tests.inference.scripted import BLOCKS, blocks_task
from tests.inference.words.models import random_checkpoint
from tests.inference.words.reference import Reference

CHECKPOINT = random_checkpoint("heuristic", vocabulary=BLOCKS, max_cost=4)


class FixedEngine:
    """The same distribution for every prompt."""

    def distributions(self, prompts: Sequence[IntArray]) -> FloatArray:
        return np.array([[0.1, 0.2, 0.1, 0.35, 0.25]] * len(prompts), np.float32)


@pytest.mark.parametrize(
    ("k", "cost"),
    [(None, 3.0), (1, 0.0), (9.9, 0.0), (10.1, 1.0), (29, 1.0), (31, 2.0), (50, 3.0), (76, 4.0), (100, 4.0)],
)
def test_percentile_is_the_smallest_cost_that_reaches_it(k: float | None, cost: float) -> None:
    task = blocks_task()
    heuristic = ModelHeuristic(CHECKPOINT, percentile=k, engine=FixedEngine())
    assert heuristic.estimate(task, [task.initial_state] * 2) == [cost, cost]


def test_percentile_hundred_survives_rounding() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((200, 97)).astype(np.float32)
    rows /= rows.sum(axis=1, keepdims=True) * np.float32(1.0001)
    assert (percentile(rows, 100.0) == 96).all()


def test_states_of_all_batches_get_their_own_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heuristic_module, "MAX_ROWS", 20)
    task = blocks_task()
    states = [task.initial_state]
    for state in list(states):
        states += [task.apply(state, action) for action in task.applicable(state)]
    states *= 3
    heuristic = ModelHeuristic(CHECKPOINT, percentile=None)
    reference = Reference(CHECKPOINT)
    distribution = heuristic.distribution(task, states)
    for state, row in zip(states, distribution, strict=True):
        prompt = heuristic._prompts.prompt(task, state)
        assert prompt is not None
        assert np.abs(row - reference.heuristic(prompt)).max() < 1e-5
    assert heuristic.estimate(task, states) == distribution.argmax(axis=1).tolist()


def test_no_states_are_no_work() -> None:
    heuristic = ModelHeuristic(CHECKPOINT, percentile=50)
    assert heuristic.estimate(blocks_task(), []) == []


def test_a_later_state_too_long_for_a_model_of_words_is_as_far_as_can_be() -> None:
    task = blocks_task("(on b1 b2)", held="b3")
    fuller = task.apply(task.initial_state, ("putdown", "b3"))
    checkpoint = random_checkpoint("heuristic", vocabulary=BLOCKS, max_cost=4, max_prompt=15)
    heuristic = ModelHeuristic(checkpoint, percentile=50)
    distribution = heuristic.distribution(task, [task.initial_state, fuller])
    assert distribution[0].sum() == pytest.approx(1.0)
    assert distribution[1].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("k", [0, -3, 101, float("nan")])
def test_impossible_percentiles_are_refused(k: float) -> None:
    with pytest.raises(InputError, match="percentile"):
        ModelHeuristic(CHECKPOINT, percentile=k)
