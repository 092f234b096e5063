"""The heuristic without torch: its network on the compiled kernel, one thread."""

from collections.abc import Sequence

import numpy as np

from oclgen.checkpoint import Checkpoint
from oclgen.inference.engine import FloatArray, IntArray
from oclgen.inference.kernel.binding import SEGMENT, Kernel, address, load_kernel, whole_panels
from oclgen.inference.kernel.network import Linear, NativeModel, aligned, pad
from oclgen.inference.words.embedding import Embedding
from oclgen.inference.words.policy_engine import widen


class Classifier:
    """From the one row that is read in the end to a distribution over costs."""

    def __init__(self, kernel: Kernel, checkpoint: Checkpoint, row_width: int) -> None:
        weights, settings = checkpoint.weights, checkpoint.settings
        pooler = pad(weights["pooler.weight"], settings.width, row_width)
        self._pooler = Linear(kernel, pooler, weights["pooler.bias"])
        self._classifier = Linear(kernel, weights["classifier.weight"], weights["classifier.bias"])
        self._classes = settings.max_cost + 1
        self._normalise = kernel.normalise

    def __call__(self, rows: FloatArray) -> FloatArray:
        logits = self._classifier(np.tanh(self._pooler(rows)))
        self._normalise(len(logits), self._classes, logits.shape[1], None, address(logits))
        return logits[:, : self._classes]


class NativeHeuristicEngine:
    """A BERT heuristic on the kernel."""

    def __init__(self, checkpoint: Checkpoint, variant: str | None = None) -> None:
        weights, settings = checkpoint.weights, checkpoint.settings
        kernel = load_kernel(variant)
        self.model = NativeModel(kernel, settings, weights)
        self._embedding = Embedding(checkpoint, lambda table: widen(table, self.model.width))
        self._norm = self.model.norm(weights["embedding_norm.weight"], weights["embedding_norm.bias"])
        self._classifier = Classifier(kernel, checkpoint, self.model.width)

    def distributions(self, prompts: Sequence[IntArray]) -> FloatArray:
        """All prompts in one batch without padding; only the first row of each is read in the end."""
        embedded = [self._embedding.prompt(prompt) for prompt in prompts]
        lengths = np.array([len(rows) for rows in embedded], np.int32)
        x = self._norm(np.concatenate(embedded))
        capacities = [whole_panels(length) for length in lengths.tolist()]
        caches = [aligned(self.model.cache_size(capacity)) for capacity in capacities]
        segments = np.zeros(len(prompts), SEGMENT)
        segments["own"] = [cache.ctypes.data for cache in caches]
        segments["own_capacity"] = capacities
        segments["rows"] = lengths
        first = np.cumsum(lengths, dtype=np.int32) - lengths
        return self._classifier(self.model.run(x, segments, np.repeat(lengths, lengths), first))
