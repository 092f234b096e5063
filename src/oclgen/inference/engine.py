"""What an engine must offer: a policy's plans under way, and a heuristic's distributions.

Two engines stand behind these protocols: `native` (the compiled kernel, no torch) and
`oclgen.learn.torch_engine` (GPUs). Everything that knows of tasks, grammar and search lies above, in `policy`
and `heuristic`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]


class Session(Protocol):
    """Rows of plan tokens under way, each behind the prompt of its state, whose cache they share.

    A row always has a next-token distribution: at first the one after `<actions>`.
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
        """Go on with these rows only, in ascending order; a row given several times is continued several times."""
        ...


class PolicyEngine(Protocol):
    """A policy's network: prompts (of whatever form its reader gives them) in, next-token distributions out."""

    @property
    def max_plan(self) -> int:
        """Positions of plan tokens, `<actions>` included: as many tokens can be sampled."""
        ...

    def open(self, prompts: Sequence[Any], rows: Sequence[int], capacity: int) -> Session:
        """`rows[i]` rows behind `prompts[i]`, prompt by prompt; each will be fed `capacity` tokens at most."""
        ...


class HeuristicEngine(Protocol):
    """A heuristic's network: prompts in, distributions over costs out."""

    def distributions(self, prompts: Sequence[IntArray]) -> FloatArray:
        """[prompts, max_cost + 1]"""
        ...
