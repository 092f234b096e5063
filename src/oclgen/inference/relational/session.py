"""Plans while they are sampled from the rows of their states, on the compiled kernel.

What plans from one state share (keys and values of its rows and of START, pointer keys, inputs of argument tokens) is
computed once, when the first session needs it; each plan has a small cache of its own for the tokens it is fed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from oclgen.inference.engine import FloatArray, IntArray
from oclgen.inference.kernel.binding import SEGMENT, Kernel, address, whole_panels
from oclgen.inference.kernel.network import aligned
from oclgen.inference.kernel.session import KernelSession
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
"""Plans that make a further thread worth while."""


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


class RelationalSession(KernelSession):
    """Plans that continue the prompts of their states."""

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
        self._weights, self._workers = weights, workers
        self._prompts = tuple(prompts)
        owners = np.repeat(np.arange(len(prompts)), rows)
        own_capacity = whole_panels(max(capacity, 1))
        segments = np.zeros(len(owners), SEGMENT)
        segments["prefix"] = np.array([address(prompt.cache) for prompt in prompts], np.uintp)[owners]
        segments["prefix_length"] = length
        segments["prefix_capacity"] = whole_panels(length)
        segments["own_capacity"] = own_capacity
        self._plans = np.zeros(len(owners), PLAN)
        self._plans["behind"] = np.array([prompt.place for prompt in prompts], np.uintp)[owners]
        stride = whole_panels(operators + 1 + whole_panels(length - 2))
        logits = np.full((len(owners), stride), IMPOSSIBLE, np.float32)
        openings = np.stack([prompt.opening for prompt in prompts])
        logits[:, : operators + 1] = openings[owners, : operators + 1]
        caches = np.empty((len(owners), weights.model.cache_size(own_capacity)), np.float32)
        super().__init__(kernel, operators + length - 1, logits, segments, caches)

    def sample_actions(
        self, live: IntArray, last: IntArray | None, numbers: FloatArray, temperature: float, limit: int
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The next action of each row in `live`: its tokens, how many there are (below zero where they are no action:
        END, or the limit came first), the least probability of any of them.

        `last[row]` is the last token of the action before, not fed yet; row `i` draws its t-th token with
        `numbers[t, i]`.
        """
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
        self._plans = self._plans[rows]
        super().keep(rows)

    def _place(self, slots: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> None:
        super()._place(slots)
        self._places = address(self._plans), address(self._segments), address(self._logits)


def refuse(failure: int) -> None:
    """Raise what the kernel reports."""
    if failure == 1:
        raise MemoryError("no memory for the activations of a batch")
    if failure == 2:
        raise ValueError("a token was fed where it cannot stand, or more than the session was opened for")
