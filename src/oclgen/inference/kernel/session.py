"""What the sessions of all networks on the kernel share: next-token distributions, samples, and which rows go on."""

import numpy as np
import numpy.typing as npt

from oclgen.inference.engine import BoolArray, FloatArray, IntArray
from oclgen.inference.kernel.binding import Kernel, address


class KernelSession:
    """Rows of plan tokens, each with its logits, its segment and a cache of its own; row `i` is in cache `slots[i]`."""

    def __init__(
        self, kernel: Kernel, vocabulary: int, logits: FloatArray, segments: npt.NDArray[np.void], caches: FloatArray
    ) -> None:
        self.vocabulary = vocabulary
        self._kernel = kernel
        self._logits, self._segments, self._caches = logits, segments, caches
        self._place(np.arange(len(segments)))

    def probabilities(self, allowed: BoolArray | None = None) -> FloatArray:
        return self._normalised(allowed)[:, : self.vocabulary].copy()

    def sample(
        self, uniform: FloatArray, temperature: float, allowed: BoolArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        rows, stride = self._normalised(allowed).shape
        tokens, chosen = np.empty(rows, np.int32), np.empty(rows, np.float32)
        results = address(tokens), address(chosen)
        self._kernel.draw(rows, self.vocabulary, stride, temperature, self._scratch_place, address(uniform), *results)
        return tokens, chosen

    def keep(self, rows: IntArray) -> None:
        self._logits = self._logits[rows]
        self._segments = self._segments[rows]
        slots = self._slots[rows]
        if (np.diff(rows) == 0).any():
            self._caches = self._caches[slots]
            slots = np.arange(len(rows))
        self._place(slots)

    def _place(self, slots: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> None:
        """Give every row its cache, and all of them memory for their probabilities."""
        self._slots = slots
        self._segments["own"] = (self._caches.ctypes.data + slots * self._caches.strides[0]).astype(np.uintp)
        self._scratch = np.empty_like(self._logits)
        self._scratch_place = address(self._scratch)

    def _normalised(self, allowed: BoolArray | None) -> FloatArray:
        """Probabilities, in memory that the next call uses again."""
        np.copyto(self._scratch, self._logits)
        rows, stride = self._scratch.shape
        mask = None if allowed is None else address(allowed)
        self._kernel.normalise(rows, self.vocabulary, stride, mask, self._scratch_place)
        return self._scratch
