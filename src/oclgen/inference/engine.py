"""The interface of engines: sampling of plans for a policy, distributions for a heuristic.

Engines of the compiled kernel (no torch) are in `words` and `relational`, those of torch (GPUs) in `oclgen.learn`.
Engines know nothing of tasks, grammar and search.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]


class Session(Protocol):
    """Rows of plan tokens while they are sampled. Each continues the prompt of its state, whose cache they share.

    A row always has a next-token distribution: at first the one after the plan's opening token.
    """

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
        ...

    def probabilities(self, allowed: BoolArray | None = None) -> FloatArray:
        """[rows, vocabulary]; `allowed` of the same shape restricts and renormalises."""
        ...

    def sample(
        self, uniform: FloatArray, temperature: float, allowed: BoolArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """One token per row, chosen by the row's number in [0, 1), and its probability at temperature 1."""
        ...

    def feed(self, tokens: IntArray, counts: IntArray | None = None) -> None:
        """Append to row `i` the next `counts[i]` of `tokens` (at least one; default: one)."""
        ...

    def keep(self, rows: IntArray) -> None:
        """Keep only these rows, in ascending order; a row given several times is continued several times."""
        ...


class PolicyEngine(Protocol):
    """A policy's network: prompts (of whatever form its reader gives them) in, next-token distributions out."""

    @property
    def max_plan(self) -> int:
        """Positions of plan tokens, the opening one included: as many tokens can be sampled."""
        ...

    def open(self, prompts: Sequence[Any], rows: Sequence[int], capacity: int) -> Session:
        """`rows[i]` rows that continue `prompts[i]`, prompt by prompt; each will be fed at most `capacity` tokens."""
        ...


class HeuristicEngine(Protocol):
    """A heuristic's network: prompts in, distributions over costs out."""

    def distributions(self, prompts: Sequence[IntArray]) -> FloatArray:
        """[prompts, max_cost + 1]"""
        ...
