"""The policy without torch: its network on the compiled kernel, one thread, caches written in place.

A prompt's keys and values are computed once, together with those of `<actions>`, and shared by all rows behind
it; each row has a small cache of its own for the plan tokens it is fed.
"""

from collections.abc import Sequence

import numpy as np

from oclgen.checkpoint import Checkpoint
from oclgen.encoding.vocabulary import ACTIONS
from oclgen.inference.engine import BoolArray, FloatArray, IntArray
from oclgen.inference.kernel.binding import SEGMENT, address, load_kernel, whole_panels
from oclgen.inference.kernel.network import Linear, NativeModel, aligned, pad
from oclgen.inference.words.embedding import Embedding


def widen(table: FloatArray, width: int) -> FloatArray:
    return pad(table, *table.shape[:-1], width)


class Prefixes:
    """One read-only cache per prompt, filled together: the prompt's rows, then `<actions>`."""

    def __init__(self, engine: "NativePolicyEngine", prompts: Sequence[IntArray]) -> None:
        embedded = [engine.embed_prefix(prompt) for prompt in prompts]
        self.lengths = np.array([len(rows) for rows in embedded], np.int32)
        self.capacities = np.array([whole_panels(length) for length in self.lengths.tolist()], np.int32)
        self.caches = [aligned(engine.model.cache_size(capacity)) for capacity in self.capacities.tolist()]
        segments = np.zeros(len(prompts), SEGMENT)
        segments["own"] = [cache.ctypes.data for cache in self.caches]
        segments["own_capacity"] = self.capacities
        segments["rows"] = self.lengths
        limits = np.concatenate([np.arange(1, length + 1, dtype=np.int32) for length in self.lengths.tolist()])
        last = np.cumsum(self.lengths, dtype=np.int32) - np.int32(1)
        self.last_rows = engine.model.run(np.concatenate(embedded), segments, limits, last)


class NativeSession:
    """Rows behind their prompts; row `i` lives in cache `slots[i]`."""

    def __init__(
        self, engine: "NativePolicyEngine", prompts: Sequence[IntArray], rows: Sequence[int], capacity: int
    ) -> None:
        self._engine = engine
        self.vocabulary = engine.vocabulary
        self._prefixes = Prefixes(engine, prompts)
        owners = np.repeat(np.arange(len(prompts)), rows)
        self._capacity = whole_panels(max(capacity, 1))
        self._caches = np.empty((len(owners), engine.model.cache_size(self._capacity)), np.float32)
        self._segments = np.zeros(len(owners), SEGMENT)
        self._segments["prefix"] = np.array([address(cache) for cache in self._prefixes.caches], np.uintp)[owners]
        self._segments["prefix_length"] = self._prefixes.lengths[owners]
        self._segments["prefix_capacity"] = self._prefixes.capacities[owners]
        self._segments["own_capacity"] = self._capacity
        self._segments["rows"] = 1
        self._place(np.arange(len(owners)))
        self._logits = engine.head(self._prefixes.last_rows)[owners]

    def probabilities(self, allowed: BoolArray | None = None) -> FloatArray:
        return self._normalised(allowed)[:, : self._engine.vocabulary]

    def sample(
        self, uniform: FloatArray, temperature: float, allowed: BoolArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        probabilities = self._normalised(allowed)
        rows, stride = probabilities.shape
        tokens, chosen = np.empty(rows, np.int32), np.empty(rows, np.float32)
        self._engine.model.kernel.draw(
            rows,
            self._engine.vocabulary,
            stride,
            temperature,
            address(probabilities),
            address(uniform),
            address(tokens),
            address(chosen),
        )
        return tokens, chosen

    def feed(self, tokens: IntArray, counts: IntArray | None = None) -> None:
        segments = self._segments
        if counts is None:
            counts = np.ones(len(segments), np.int32)
        ends = np.cumsum(counts, dtype=np.int32)
        before = np.repeat(segments["start"] + counts - ends, counts)
        limits = before + np.arange(1, len(tokens) + 1, dtype=np.int32)
        assert limits.max(initial=0) <= self._capacity, "fed more tokens than the session was opened for"
        positions = limits + np.repeat(segments["prefix_length"] - np.int32(1), counts)
        x = self._engine.embedding.plan(tokens, positions)
        segments["rows"] = counts
        self._logits = self._engine.head(self._engine.model.run(x, segments, limits, ends - np.int32(1)))
        segments["start"] += counts

    def keep(self, rows: IntArray) -> None:
        self._logits = self._logits[rows]
        self._segments = self._segments[rows]
        slots = self._slots[rows]
        if (np.diff(rows) == 0).any():
            self._caches = self._caches[slots]
            slots = np.arange(len(rows))
        self._place(slots)

    def _place(self, slots: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> None:
        self._slots = slots
        self._segments["own"] = (self._caches.ctypes.data + slots * self._caches.strides[0]).astype(np.uintp)

    def _normalised(self, allowed: BoolArray | None) -> FloatArray:
        probabilities = self._logits.copy()
        rows, stride = probabilities.shape
        mask = None if allowed is None else address(allowed)
        self._engine.model.kernel.normalise(rows, self._engine.vocabulary, stride, mask, address(probabilities))
        return probabilities


class NativePolicyEngine:
    """A GPT-2 policy on the kernel."""

    def __init__(self, checkpoint: Checkpoint, variant: str | None = None) -> None:
        weights, settings = checkpoint.weights, checkpoint.settings
        self.model = NativeModel(load_kernel(variant), settings, weights)
        self.embedding = Embedding(checkpoint, lambda table: widen(table, self.model.width))
        self.max_plan = settings.max_plan
        self.vocabulary = len(weights["token.weight"])
        self._normalise = self.model.norm(weights["norm.weight"], weights["norm.bias"])  # behind the last block
        table = widen(weights["token.weight"], self.model.width)
        self._head = Linear(self.model.kernel, table, np.zeros(len(table), np.float32))

    def open(self, prompts: Sequence[IntArray], rows: Sequence[int], capacity: int) -> NativeSession:
        return NativeSession(self, prompts, rows, capacity)

    def head(self, x: FloatArray) -> FloatArray:
        """Logits, padded to whole panels."""
        return self._head(self._normalise(x))

    def embed_prefix(self, prompt: IntArray) -> FloatArray:
        """The rows of a prompt and of `<actions>`."""
        rows = self.embedding.prompt(prompt)
        opening, place = (np.array([number], np.int32) for number in (ACTIONS, len(rows)))
        return np.concatenate([rows, self.embedding.plan(opening, place)])
