"""A model runs where it is told to, and says so where it cannot."""

import random

import pytest
import torch

from oclgen.errors import InputError
from oclgen.inference.checkpoint_policy import checkpoint_policy
from oclgen.inference.words.heuristic import ModelHeuristic
from tests.inference.scripted import BLOCKS, blocks_task
from tests.inference.words.models import random_checkpoint

POLICY = random_checkpoint("policy", vocabulary=BLOCKS)
HEURISTIC = random_checkpoint("heuristic", vocabulary=BLOCKS)


def test_torch_and_the_kernel_sample_the_same_rollouts() -> None:
    task = blocks_task()
    native, by_torch = (
        checkpoint_policy(POLICY, decoding="applicable", device=device).rollouts(
            task, [task.initial_state], 6, random.Random(4), max_tokens=12
        )
        for device in ("cpu", "cpu-torch")
    )
    assert [[step.action for step in one] for one in native[0]] == [
        [step.action for step in one] for one in by_torch[0]
    ]


def test_torch_and_the_kernel_estimate_the_same_costs() -> None:
    task = blocks_task()
    states = [task.initial_state, task.apply(task.initial_state, ("pickup", "b1"))]
    native, by_torch = (
        ModelHeuristic(HEURISTIC, percentile=50, device=device).estimate(task, states)
        for device in ("cpu", "cpu-torch")
    )
    assert native == by_torch


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(InputError, match="unknown device"):
        checkpoint_policy(POLICY, device="abacus")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_gpu_is_said_in_one_line() -> None:
    with pytest.raises(InputError, match="no GPU here"):
        ModelHeuristic(HEURISTIC, percentile=50, device="cuda")
