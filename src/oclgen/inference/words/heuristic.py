"""The paper's distributional heuristic, from a checkpoint.

The network gives a distribution over costs-to-go 0..L_max. `percentile=k` summarises it to the smallest cost c with
P(cost <= c) >= k / 100 (with a low k it rarely overestimates), `percentile=None` to its mode.

Paper: Section 4.4 (distributional heuristic).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from oclgen.checkpoint import Checkpoint
from oclgen.errors import InputError
from oclgen.inference.devices import heuristic_engine
from oclgen.inference.engine import FloatArray, HeuristicEngine, IntArray
from oclgen.inference.words.prompts import Prompts, open_checkpoint
from oclgen.interfaces import State, Task

MAX_ROWS = 512
"""Prompt rows of one batch: enough to fill the kernel, few enough to stay in the processor's caches."""


class ModelHeuristic:
    """A `Heuristic` from a checkpoint; `engine` replaces the device's own.

    A state whose prompt is too long for the model counts as `max_cost` away.
    """

    def __init__(
        self,
        checkpoint: Checkpoint | Path | str,
        *,
        percentile: float | None,
        device: str = "cpu",
        engine: HeuristicEngine | None = None,
    ) -> None:
        if percentile is not None and not 0.0 < percentile <= 100.0:
            raise InputError(f"percentile is {percentile}, must be above 0 and at most 100")
        checkpoint = open_checkpoint(checkpoint, "heuristic")
        self._percentile = percentile
        self._max_cost = checkpoint.settings.max_cost
        self._prompts = Prompts(checkpoint)
        self._engine: HeuristicEngine = engine or heuristic_engine(checkpoint, device)

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        distribution = self.distribution(task, states)
        if self._percentile is None:
            return [float(cost) for cost in distribution.argmax(axis=1)]
        return [float(cost) for cost in percentile(distribution, self._percentile)]

    def distribution(self, task: Task, states: Sequence[State]) -> FloatArray:
        """[states, max_cost + 1]"""
        result = np.zeros((len(states), self._max_cost + 1), np.float32)
        fitting: list[tuple[int, IntArray]] = []
        for index, state in enumerate(states):
            prompt = self._prompts.prompt(task, state)
            if prompt is None:
                result[index, self._max_cost] = 1.0
            else:
                fitting.append((index, prompt))
        for batch in batches(fitting):
            result[[index for index, _ in batch]] = self._engine.distributions([prompt for _, prompt in batch])
        return result


def percentile(distribution: FloatArray, k: float) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """For each row the smallest c with P(cost <= c) >= k / 100; rounding never loses the last class."""
    cumulative = distribution.cumsum(axis=1, dtype=np.float64)
    cumulative /= cumulative[:, -1:]
    reached: np.ndarray[tuple[int], np.dtype[np.intp]] = (cumulative >= k / 100.0).argmax(axis=1)
    return reached


def batches(prompts: Sequence[tuple[int, IntArray]]) -> Iterator[list[tuple[int, IntArray]]]:
    """Batches of about MAX_ROWS rows."""
    batch: list[tuple[int, IntArray]] = []
    rows = 0
    for item in prompts:
        batch.append(item)
        rows += len(item[1])
        if rows >= MAX_ROWS:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch
