"""Rows that go into the blocks of the paper's networks: a token's embedding plus that of its absolute position.

Tables are padded to the width of the engine's rows.
"""

from collections.abc import Callable

from oclgen.checkpoint import Checkpoint
from oclgen.inference.engine import FloatArray, IntArray


class Embedding:
    """The embedding tables of a checkpoint; `widen` pads one to the engine's width."""

    def __init__(self, checkpoint: Checkpoint, widen: Callable[[FloatArray], FloatArray]) -> None:
        self._token = widen(checkpoint.weights["token.weight"])
        self._position = widen(checkpoint.weights["position.weight"])

    def prompt(self, prompt: IntArray) -> FloatArray:
        """[words, 1] to [words, width]."""
        rows = self._token.take(prompt[:, 0], 0)
        rows += self._position[: len(prompt)]
        return rows

    def plan(self, tokens: IntArray, positions: IntArray) -> FloatArray:
        """Plan tokens at their positions, those of the prompt before them counted."""
        rows = self._token.take(tokens, 0)
        rows += self._position.take(positions, 0)
        return rows
