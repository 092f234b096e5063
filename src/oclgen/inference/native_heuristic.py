"""The heuristic without torch: its network on the compiled kernel, one thread."""

from collections.abc import Sequence

import numpy as np

from oclgen.checkpoint import Checkpoint
from oclgen.inference.embedding import Embedding
from oclgen.inference.engine import FloatArray, HeuristicEngine, IntArray
from oclgen.inference.kernel import SEGMENT, Kernel, address, load_kernel, whole_panels
from oclgen.inference.native import NativePolicyEngine, Prefixes, widen
from oclgen.inference.native_model import Linear, NativeModel, aligned, pad


def native_heuristic_engine(checkpoint: Checkpoint, variant: str | None = None) -> HeuristicEngine:
    """The engine for the network that the checkpoint holds."""
    kind = NativeBertEngine if checkpoint.settings.network == "bert" else NativePlanStartEngine
    return kind(checkpoint, variant)


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


class NativePlanStartEngine:
    """A policy's network, read at the opening token of the plan."""

    def __init__(self, checkpoint: Checkpoint, variant: str | None = None) -> None:
        self._body = NativePolicyEngine(checkpoint, variant)
        self._classifier = Classifier(self._body.model.kernel, checkpoint, self._body.model.width)

    def distributions(self, prompts: Sequence[IntArray]) -> FloatArray:
        return self._classifier(self._body.normalise(Prefixes(self._body, prompts).last_rows))


class NativeBertEngine:
    """A BERT encoder."""

    def __init__(self, checkpoint: Checkpoint, variant: str | None = None) -> None:
        weights, settings = checkpoint.weights, checkpoint.settings
        kernel = load_kernel(variant)
        self.model = NativeModel(kernel, settings, weights)
        self._embedding = Embedding(checkpoint, lambda table: widen(table, self.model.width))
        self._opening = widen(weights["cls"][None], self.model.width) if "cls" in weights else None
        self._norm = self.model.norm(weights["embedding_norm.weight"], weights["embedding_norm.bias"])
        self._classifier = Classifier(kernel, checkpoint, self.model.width)

    def distributions(self, prompts: Sequence[IntArray]) -> FloatArray:
        """All prompts in one batch without padding; only the first row of each is read in the end."""
        embedded = [self._embed(prompt) for prompt in prompts]
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

    def _embed(self, prompt: IntArray) -> FloatArray:
        rows = self._embedding.prompt(prompt)
        return rows if self._opening is None else np.concatenate([self._opening, rows])
