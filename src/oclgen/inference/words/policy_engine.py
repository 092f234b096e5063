"""The policy without torch: its network on the compiled kernel, one thread, caches written in place.

A prompt's keys and values are computed once, together with those of `<actions>`, and shared by all rows that continue
it; each row has a small cache of its own for the plan tokens it is fed.
"""

from collections.abc import Sequence

import numpy as np

from oclgen.checkpoint import Checkpoint
from oclgen.encoding.vocabulary import ACTIONS
from oclgen.inference.engine import FloatArray, IntArray
from oclgen.inference.kernel.binding import SEGMENT, address, load_kernel, whole_panels
from oclgen.inference.kernel.network import Linear, NativeModel, aligned, pad
from oclgen.inference.kernel.session import KernelSession
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


class NativeSession(KernelSession):
    """Plans that continue the prompts of their states."""

    def __init__(
        self, engine: "NativePolicyEngine", prompts: Sequence[IntArray], rows: Sequence[int], capacity: int
    ) -> None:
        self._engine = engine
        self._prefixes = prefixes = Prefixes(engine, prompts)
        owners = np.repeat(np.arange(len(prompts)), rows)
        self._capacity = whole_panels(max(capacity, 1))
        segments = np.zeros(len(owners), SEGMENT)
        segments["prefix"] = np.array([address(cache) for cache in prefixes.caches], np.uintp)[owners]
        segments["prefix_length"] = prefixes.lengths[owners]
        segments["prefix_capacity"] = prefixes.capacities[owners]
        segments["own_capacity"] = self._capacity
        segments["rows"] = 1
        caches = np.empty((len(owners), engine.model.cache_size(self._capacity)), np.float32)
        logits = engine.head(prefixes.last_rows)[owners]
        super().__init__(engine.model.kernel, engine.vocabulary, logits, segments, caches)

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
