"""The cost head of a relational model as a heuristic.

The network gives the mean and the scale of a logistic distribution over whole costs, so percentile and mode have a
closed form, and no largest cost exists.

Paper: Section 4.4 (distributional heuristic; there a classifier over 0..L_max).
"""

import math
from collections.abc import Sequence

import numpy as np

from oclgen.errors import InputError
from oclgen.inference.engine import FloatArray
from oclgen.inference.relational.encoded_states import RelationalModel
from oclgen.interfaces import State, Task


class RelationalHeuristic:
    """A `Heuristic`; `percentile=None` is the mode."""

    def __init__(self, model: RelationalModel, *, percentile: float | None) -> None:
        if percentile is not None and not 0.0 < percentile <= 100.0:
            raise InputError(f"percentile is {percentile}, must be above 0 and at most 100")
        self._model = model
        self._percentile = percentile

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        if not states:
            return []
        parameters = self.parameters(task, states)
        summary = modes(parameters) if self._percentile is None else percentiles(parameters, self._percentile)
        return [float(cost) for cost in summary]

    def parameters(self, task: Task, states: Sequence[State]) -> FloatArray:
        """[states, 2]: mean and scale."""
        return self._model.engine.costs(self._model.states(task).rows(states))


def modes(parameters: FloatArray) -> FloatArray:
    """The most likely whole cost of each distribution."""
    most_likely: FloatArray = np.maximum(0.0, np.floor(parameters[:, 0] + 0.5))
    return most_likely


def percentiles(parameters: FloatArray, k: float) -> FloatArray:
    """For each distribution the smallest cost c >= 0 with P(cost <= c) >= k / 100."""
    share = min(k / 100.0, 1.0 - 1e-6)
    bound = parameters[:, 0] + parameters[:, 1] * math.log(share / (1.0 - share)) - 0.5
    smallest: FloatArray = np.maximum(0.0, np.ceil(bound))
    return smallest
