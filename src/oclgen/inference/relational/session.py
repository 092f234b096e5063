"""Plans under way behind the rows of their states, on the compiled kernel.

What plans from one state share (keys and values of its rows and of START, pointer keys, inputs of argument tokens) is
computed once, when the first session needs it; each plan has a small cache of its own for the tokens it is fed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from oclgen.inference.engine import BoolArray, FloatArray, IntArray
from oclgen.inference.kernel.binding import SEGMENT, Kernel, address, whole_panels
from oclgen.inference.kernel.network import aligned
from oclgen.inference.kernel.workers import Workers
from oclgen.inference.relational.weights import DecoderWeights

PROMPT = np.dtype(
    [
        *((name, np.uintp) for name in ("cache", "keys", "arguments", "opening")),
        *((name, np.int32) for name in ("rows", "capacity")),
    ],
    align=True,
)
PLAN = np.dtype([("behind", np.uintp), ("read", np.int32), ("missing", np.int32)], align=True)
DRAWING = np.dtype(
    [
        ("numbers", np.uintp),
        *((name, np.int32) for name in ("stride", "vocabulary", "limit", "longest")),
        ("temperature", np.float32),
    ],
    align=True,
)
"""All as relational_decoder.c explains them."""
IMPOSSIBLE = -1e30
MIN_ROWS = 4
"""Plans for which a further thread is worth while."""


class Prompt:
    """What plans from one state share."""

    def __init__(self, kernel: Kernel, weights: DecoderWeights, final: FloatArray) -> None:
        rows, width = final.shape
        self.length = rows + 1  # with START
        self.capacity = whole_panels(self.length)
        self.cache = aligned(weights.model.cache_size(self.capacity))
        self.opening = np.empty(weights.choices, np.float32)
        self._keys, self._arguments = aligned(whole_panels(rows) * width), aligned(rows * width)
        arrays = self.cache, self._keys, self._arguments, self.opening
        self._struct = np.array([(*map(address, arrays), rows, self.capacity)], PROMPT)
        self.place = address(self._struct)
        if kernel.prepare(weights.place, address(final), self.place):
            raise MemoryError("no memory for the rows of a state")

    @property
    def nbytes(self) -> int:
        return self.cache.nbytes + self._keys.nbytes + self._arguments.nbytes


class RelationalSession:
    """Rows of plan tokens behind their prompts; row `i` lives in cache `slots[i]`."""

    def __init__(
        self,
        kernel: Kernel,
        weights: DecoderWeights,
        workers: Workers,
        operators: int,
        prompts: Sequence[Prompt],
        rows: Sequence[int],
        capacity: int,
    ) -> None:
        [length] = {prompt.length for prompt in prompts}
        self.vocabulary = operators + length - 1
        self._kernel, self._weights, self._workers = kernel, weights, workers
        self._prompts = tuple(prompts)
        owners = np.repeat(np.arange(len(prompts)), rows)
        self._caches = np.empty((len(owners), weights.model.cache_size(whole_panels(max(capacity, 1)))), np.float32)
        self._segments = np.zeros(len(owners), SEGMENT)
        self._segments["prefix"] = np.array([address(prompt.cache) for prompt in prompts], np.uintp)[owners]
        self._segments["prefix_length"] = length
        self._segments["prefix_capacity"] = whole_panels(length)
        self._segments["own_capacity"] = whole_panels(max(capacity, 1))
        self._plans = np.zeros(len(owners), PLAN)
        self._plans["behind"] = np.array([prompt.place for prompt in prompts], np.uintp)[owners]
        stride = whole_panels(operators + 1 + whole_panels(length - 2))
        self._logits = np.full((len(owners), stride), IMPOSSIBLE, np.float32)
        openings = np.stack([prompt.opening for prompt in prompts])
        self._logits[:, : operators + 1] = openings[owners, : operators + 1]
        self._place(np.arange(len(owners)))

    def probabilities(self, allowed: BoolArray | None = None) -> FloatArray:
        return self._normalised(allowed)[:, : self.vocabulary].copy()

    def sample(
        self, uniform: FloatArray, temperature: float, allowed: BoolArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        probabilities = self._normalised(allowed)
        rows, stride = probabilities.shape
        tokens, chosen = np.empty(rows, np.int32), np.empty(rows, np.float32)
        self._kernel.draw(
            rows,
            self.vocabulary,
            stride,
            temperature,
            self._scratch_place,
            address(uniform),
            address(tokens),
            address(chosen),
        )
        return tokens, chosen

    def sample_actions(
        self, live: IntArray, last: IntArray | None, numbers: FloatArray, temperature: float, limit: int
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The next action of each row in `live`: its tokens, how many there are (below zero where they are no action:
        END, or the limit came first), the least probability of any of them.

        `last[row]` is the last token of the action before, not fed yet; row `i` draws its t-th token with
        `numbers[t, i]`.
        """
        assert self._kernel.act is not None
        longest = self._weights.longest
        tokens = np.empty((len(live), longest), np.int32)
        lengths, confidences = np.empty(len(live), np.int32), np.empty(len(live), np.float32)
        how = np.array(
            [(numbers.ctypes.data, numbers.strides[0] // 4, self.vocabulary, limit, longest, temperature)], DRAWING
        )
        failure = self._kernel.act(
            self._weights.place,
            len(live),
            address(live),
            *self._places,
            self._logits.shape[1],
            None if last is None else address(last),
            address(how),
            address(tokens),
            address(lengths),
            address(confidences),
        )
        refuse(failure)
        return tokens, lengths, confidences

    def feed(self, tokens: IntArray, counts: IntArray | None = None) -> None:
        self._segments["rows"] = 1 if counts is None else counts
        tokens = np.ascontiguousarray(tokens, np.int32)
        firsts = None if counts is None else np.cumsum(counts) - counts
        parts = self._workers.split(len(self._segments), MIN_ROWS)
        failures = self._workers.map(lambda rows: self._decode(rows, address(tokens), firsts), parts)
        refuse(max(failures, default=0))

    def _decode(self, rows: slice, tokens: int, firsts: "np.ndarray[Any, np.dtype[np.integer[Any]]] | None") -> int:
        """Feed a portion of the rows."""
        plans, segments, logits = self._places
        stride = self._logits.shape[1]
        return self._kernel.decode(
            self._weights.place,
            rows.stop - rows.start,
            plans + rows.start * PLAN.itemsize,
            segments + rows.start * SEGMENT.itemsize,
            tokens + 4 * (rows.start if firsts is None else int(firsts[rows.start])),
            logits + rows.start * stride * 4,
            stride,
        )

    def keep(self, rows: IntArray) -> None:
        self._logits = self._logits[rows]
        self._segments = self._segments[rows]
        self._plans = self._plans[rows]
        slots = self._slots[rows]
        if (np.diff(rows) == 0).any():
            self._caches = self._caches[slots]
            slots = np.arange(len(rows))
        self._place(slots)

    def _place(self, slots: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> None:
        """Remember where everything lies."""
        self._slots = slots
        self._segments["own"] = (self._caches.ctypes.data + slots * self._caches.strides[0]).astype(np.uintp)
        self._places = address(self._plans), address(self._segments), address(self._logits)
        self._scratch = np.empty_like(self._logits)
        self._scratch_place = address(self._scratch)

    def _normalised(self, allowed: BoolArray | None) -> FloatArray:
        """In memory that the next call uses again."""
        np.copyto(self._scratch, self._logits)
        rows, stride = self._scratch.shape
        mask = None if allowed is None else address(allowed)
        self._kernel.normalise(rows, self.vocabulary, stride, mask, self._scratch_place)
        return self._scratch


def refuse(failure: int) -> None:
    """Raise what the kernel reports."""
    if failure == 1:
        raise MemoryError("no memory for the activations of a batch")
    if failure == 2:
        raise ValueError("a token was fed where it cannot stand, or more than the session was opened for")
