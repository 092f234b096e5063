"""Rows that go into the blocks: prompts and plan tokens, in any encoding.

`words`: token + absolute position. `atoms`: predicate + segment + one embedding per argument slot for the prompt,
token + position inside the plan after it. `objects`: the same, and the positive parts of the atoms that begin with
the same object are added up. Tables are padded to the width of the engine's rows.
"""

from collections.abc import Callable

import numpy as np

from oclgen.checkpoint import Checkpoint
from oclgen.encoding.objects import FIRST_ARGUMENT
from oclgen.inference.engine import FloatArray, IntArray


class Embedding:
    """The embedding tables of a checkpoint; `widen` pads one to the engine's width."""

    def __init__(self, checkpoint: Checkpoint, widen: Callable[[FloatArray], FloatArray]) -> None:
        self._words = checkpoint.settings.encoding == "words"
        self._objects = checkpoint.settings.encoding == "objects"
        tables = {
            name: widen(checkpoint.weights[f"{name}.weight"])
            for name in ("token", "position", "predicate", "segment", "argument")
            if f"{name}.weight" in checkpoint.weights
        }
        self._token, self._position = tables.get("token"), tables.get("position")
        if not self._words:
            self._atoms, self._offsets = stack(tables["predicate"], tables["segment"], tables["argument"])

    def prompt(self, prompt: IntArray) -> FloatArray:
        """[length, columns] to [length, width], or to [objects, width]."""
        if self._words:
            assert self._token is not None and self._position is not None
            words = self._token.take(prompt[:, 0], 0)
            words += self._position[: len(prompt)]
            return words
        indices = prompt + self._offsets
        summed = self._atoms.take(indices[:, 0], 0)
        for column in range(1, indices.shape[1]):
            summed += self._atoms.take(indices[:, column], 0)
        return pool(summed, prompt[:, FIRST_ARGUMENT]) if self._objects else summed

    def plan(self, tokens: IntArray, positions: IntArray, prompt_lengths: IntArray) -> FloatArray:
        """Plan tokens at their positions inside the plan (`<actions>` is at 0)."""
        assert self._token is not None and self._position is not None
        places = positions + prompt_lengths if self._words else positions
        rows = self._token.take(tokens, 0)
        rows += self._position.take(places, 0)
        return rows


def stack(predicate: FloatArray, segment: FloatArray, argument: FloatArray) -> tuple[FloatArray, IntArray]:
    """One table of all atom embeddings, and where the part of each prompt column begins in it."""
    slots, objects, width = argument.shape
    first = len(predicate) + len(segment)
    offsets = [0, len(predicate), *(first + slot * objects for slot in range(slots))]
    table = np.concatenate([predicate, segment, argument.reshape(slots * objects, width)])
    return table, np.array(offsets, np.int32)


def pool(atoms: FloatArray, speaks_of: IntArray) -> FloatArray:
    """One row per object: the positive parts of its atoms, added up."""
    belongs = np.unique(speaks_of)[:, None] == speaks_of
    pooled: FloatArray = belongs.astype(np.float32) @ np.maximum(atoms, 0.0)
    return pooled
