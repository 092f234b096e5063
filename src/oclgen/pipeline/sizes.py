"""The network and its training for a domain nobody has tuned: from the operators' arities and the time there is."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from oclgen.encoding.kinds import RELATIONAL
from oclgen.learn.settings import Data, Generation, Model, Optimizer, Run, Schedule, TrainingSettings
from oclgen.pddl.reading.domain import read_domain

WINDOW, LEAST_WINDOW = 24, 20
"""Actions of a rollout; longer plans are chained from such pieces."""
WINDOW_TOKENS = 100
SAVE_EVERY = "20s"
MOST_EPOCHS = 400.0
"""More passes over a hundred plans make the validation loss rise again."""
STALE = 0.5
"""When the validation loss was least in the first half of the steps so far, more of them bring nothing: the rate
decays, and the time is for self-improvement."""


def rollout_size(domain_text: str) -> tuple[int, int]:
    """Actions in a window, and the positions that hold their tokens and the start."""
    operators = read_domain(domain_text).operators.values()
    action = 1 + max((operator.arity for operator in operators), default=0)
    window = min(WINDOW, max(LEAST_WINDOW, WINDOW_TOKENS // action))
    return window, window * action + 1


def training_settings(data: Path, domain_text: str, seconds: float, seed: int) -> TrainingSettings:
    """One network with both heads, from scratch."""
    window, max_plan = rollout_size(domain_text)
    model = Model(
        encoding=RELATIONAL.name,
        layers=4,
        decoder_layers=2,
        width=64,
        heads=4,
        inner=256,
        relation=32,
        max_plan=max_plan,
    )
    return TrainingSettings(
        kind=RELATIONAL.name,
        model=model,
        data=Data(str(data), window=window, batch_tokens=4000),
        optimizer=Optimizer("muon", lr=0.003, hidden_lr=0.02, betas=(0.9, 0.98)),
        schedule=Schedule(
            "trapezoid", warmup=50, decay=0.4, time=f"{seconds:.1f}s", most_epochs=MOST_EPOCHS, stale=STALE
        ),
        run=run_settings(seconds, seed),
        generation=Generation(problems=0),
    )


def run_settings(seconds: float, seed: int) -> Run:
    validate_every = int(np.clip(seconds / 15, 10, 100))
    return Run(seed=seed, threads=1, validate_every=validate_every, validation_examples=60, save_every=SAVE_EVERY)


def finetuning_settings(before: TrainingSettings, initial: Path, data: Path, seconds: float) -> TrainingSettings:
    """Goes on from a checkpoint at half the rates."""
    optimizer = replace(before.optimizer, lr=before.optimizer.lr / 2, hidden_lr=before.optimizer.hidden_lr / 2)
    return replace(
        before,
        data=replace(before.data, path=str(data)),
        optimizer=optimizer,
        schedule=Schedule("trapezoid", warmup=20, decay=0.7, time=f"{seconds:.1f}s", most_epochs=MOST_EPOCHS / 4),
        run=replace(run_settings(seconds, before.run.seed), initial=str(initial)),
    )
