"""Sizes of networks and lengths of windows for a domain nobody has tuned: from the data and the time there is."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from oclgen.data.example_store import Store
from oclgen.encoding import Vocabulary
from oclgen.learn.settings import Data, Generation, Model, Optimizer, Run, Schedule, TrainingSettings

HEADROOM = 1.5
"""Problems to come may be so much larger than the largest one seen."""
WINDOW_TOKENS = 96
"""A rollout's length; longer plans are chained from such pieces."""
HOUR = 3600.0


def network_size(seconds: float) -> tuple[int, int]:
    """Layers and width of a policy that can be trained in this time on a CPU."""
    if seconds < HOUR / 2:
        return 3, 96
    return (4, 128) if seconds < 4 * HOUR else (4, 192)


def policy_settings(
    data: Path, vocabulary: Path, words: Vocabulary, stores: list[Store], seconds: float, seed: int
) -> TrainingSettings:
    action = 1 + max(operator.arity for operator in words.operators)
    window = max(4, WINDOW_TOKENS // action)
    layers, width = network_size(seconds)
    model = Model(
        layers=layers,
        heads=width // 32,
        width=width,
        inner=4 * width,
        max_prompt=longest_prompt(stores),
        max_plan=window * action + 1,
    )
    source = Data(str(data), vocabulary=str(vocabulary), window=window, shuffle_names=True, batch_tokens=6000)
    links = 1 + 2 * max(int(store.length.max()) for store in stores) // window
    return shared("policy", model, source, seconds, seed, Generation(problems=10, samples=10, links=links, every=4))


def heuristic_settings(
    policy: TrainingSettings, trained: Path, stores: list[Store], seconds: float
) -> TrainingSettings:
    """The policy's network with a classifier on top, started from the trained policy: it then learns several times
    faster than a network of its own."""
    longest = max(int(store.length.max()) for store in stores)
    model = replace(policy.model, network="gpt2", max_cost=int(longest * HEADROOM) + 10)
    settings = shared("heuristic", model, replace(policy.data, window=0), seconds, policy.run.seed, Generation())
    optimizer = replace(settings.optimizer, lr=0.002, hidden_lr=0.01)
    return replace(settings, optimizer=optimizer, run=replace(settings.run, initial=str(trained)))


def shared(kind: str, model: Model, data: Data, seconds: float, seed: int, generation: Generation) -> TrainingSettings:
    """What both models have in common: Muon, a trapezoid over the given time, about forty validations."""
    optimizer = Optimizer("muon", lr=0.003, hidden_lr=0.02, betas=(0.9, 0.95))
    schedule = Schedule("trapezoid", warmup=50, decay=0.4, time=f"{seconds:.0f}s")
    validate_every = int(np.clip(seconds / 40, 20, 500))
    run = Run(seed=seed, validate_every=validate_every, validation_examples=500)
    settings = TrainingSettings(kind, model, data, optimizer, schedule, run, generation)
    return replace(settings, data=replace(data, batch_tokens=max(data.batch_tokens, 4 * model.max_prompt)))


def longest_prompt(stores: list[Store]) -> int:
    return int(max(int(store.step_atoms.max()) for store in stores) * HEADROOM) + 10
