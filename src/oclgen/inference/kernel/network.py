"""A network's blocks in the kernel's layout: padded, packed into panels.

All sizes are padded with zeros to multiples of the panel: each head to whole panels, the residual stream to the
sum of the heads, so that any shape of network runs. The scale of attention is folded into the queries.
"""

import ctypes
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oclgen.checkpoint import NORM_EPSILON, ModelSettings
from oclgen.inference.engine import FloatArray, IntArray
from oclgen.inference.kernel.binding import (
    BLOCK_TENSORS,
    NETWORKS,
    SEGMENT,
    BlockStruct,
    Kernel,
    ModelStruct,
    address,
    whole_panels,
)

CACHE_LINE = 64


def aligned(size: int) -> FloatArray:
    """Uninitialised floats that begin at a cache line."""
    spare = CACHE_LINE // 4
    memory = np.empty(size + spare, np.float32)
    offset = (-memory.ctypes.data // 4) % spare
    return memory[offset : offset + size]


def pad(array: FloatArray, *shape: int) -> FloatArray:
    """The array in the corner of zeros of a larger shape, in memory of its own."""
    padded = aligned(math.prod(shape)).reshape(shape)
    padded[...] = 0.0
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded


class Linear:
    """y = x w + b, with w in panels."""

    def __init__(self, kernel: Kernel, weight: FloatArray, bias: FloatArray) -> None:
        self.outputs, self.inputs = (whole_panels(size) for size in weight.shape)
        padded = pad(weight, self.outputs, self.inputs)
        self.weight = aligned(padded.size)
        kernel.pack(self.outputs, self.inputs, address(padded), address(self.weight))
        self.bias = pad(bias, self.outputs)
        self._places = address(self.weight), address(self.bias)
        self._apply = kernel.linear

    def __call__(self, x: FloatArray) -> FloatArray:
        y = np.empty((len(x), self.outputs), np.float32)
        self._apply(len(x), self.inputs, self.outputs, address(x), *self._places, address(y))
        return y


@dataclass(frozen=True, slots=True)
class Blocks:
    """The shape of a stack of equal blocks."""

    network: str
    layers: int
    heads: int
    width: int
    inner: int


class NativeModel:
    """The blocks of one network, whose tensors are `name`.0, `name`.1 and so on."""

    def __init__(
        self, kernel: Kernel, shape: ModelSettings | Blocks, weights: Mapping[str, FloatArray], name: str = "block"
    ) -> None:
        self.kernel = kernel
        self.layers, self.heads = shape.layers, shape.heads
        self.head = whole_panels(shape.width // shape.heads)
        self.width = self.heads * self.head
        self.network = shape.network
        self._arrays: list[FloatArray] = []
        self._blocks = (BlockStruct * shape.layers)(*(self._block(f"{name}.{i}", weights) for i in range(shape.layers)))
        self._model = ModelStruct(
            ctypes.addressof(self._blocks),
            shape.layers,
            shape.heads,
            self.width,
            whole_panels(shape.inner),
            shape.width,
            NETWORKS.index(shape.network),
            NORM_EPSILON["bert" if shape.network == "bert" else "gpt2"],
        )
        self.place = ctypes.addressof(self._model)

    def cache_size(self, capacity: int) -> int:
        """Floats of a cache for that many positions (whole panels); an encoder's holds one layer at a time."""
        return (self.layers if self.network == "gpt2" else 1) * 2 * self.width * capacity

    def bias_attention(self, tables: FloatArray) -> None:
        """[layers, distances, heads]: added to the attention scores between rows at each distance."""
        for block, table in zip(self._blocks, tables, strict=True):
            by_head = np.ascontiguousarray(table.T, np.float32)
            self._arrays.append(by_head)
            block.distance = address(by_head)

    def run(
        self, x: FloatArray, segments: npt.NDArray[np.void], limits: IntArray, wanted: IntArray | None = None
    ) -> FloatArray:
        """Run all blocks over embedded rows, in place; returns the last block's rows, or the wanted ones of them."""
        assert segments.dtype == SEGMENT and x.shape == (len(limits), self.width)
        rows = None if wanted is None else address(wanted)
        if self.kernel.forward(self.place, address(x), address(segments), len(segments), address(limits), rows):
            raise MemoryError("no memory for the activations of a batch")
        return x if wanted is None else x[: len(wanted)]

    def norm(self, weight: FloatArray, bias: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """A layer norm over rows of this model's width."""
        padded = pad(weight, self.width), pad(bias, self.width)
        self._arrays.extend(padded)
        places = address(padded[0]), address(padded[1])

        def apply(x: FloatArray) -> FloatArray:
            y = np.empty_like(x)
            self.kernel.layer_norm(self.place, len(x), address(x), *places, address(y))
            return y

        return apply

    def _block(self, name: str, weights: Mapping[str, FloatArray]) -> BlockStruct:
        tensors = [weights[f"{name}.{tensor}"] for tensor in BLOCK_TENSORS]
        by_name = dict(zip(BLOCK_TENSORS, tensors, strict=True))
        by_name["attention.weight"], by_name["attention.bias"] = self._stack(
            by_name["attention.weight"], by_name["attention.bias"]
        )
        by_name["projection.weight"] = self._spread(by_name["projection.weight"])
        ready: dict[str, FloatArray] = {}
        for layer in ("attention", "projection", "up", "down"):
            weight = by_name[f"{layer}.weight"]
            outputs = self.width if layer in ("projection", "down") else len(weight)
            inputs = weight.shape[1] if layer in ("projection", "down") else self.width
            linear = Linear(self.kernel, pad(weight, outputs, inputs), by_name[f"{layer}.bias"])
            ready[f"{layer}.weight"], ready[f"{layer}.bias"] = linear.weight, linear.bias
        for norm in ("norm1", "norm2"):
            for kind in ("weight", "bias"):
                ready[f"{norm}.{kind}"] = pad(by_name[f"{norm}.{kind}"], self.width)
        self._arrays.extend(ready.values())
        return BlockStruct(*(address(ready[tensor]) for tensor in BLOCK_TENSORS))

    def _stack(self, weight: FloatArray, bias: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Queries, keys and values with padded heads, queries scaled."""
        width = weight.shape[1]
        head = width // self.heads
        scale = np.array([head**-0.5, 1.0, 1.0], np.float32)
        wide = pad(weight.reshape(3, self.heads, head, width), 3, self.heads, self.head, width)
        long = pad(bias.reshape(3, self.heads, head), 3, self.heads, self.head)
        wide *= scale[:, None, None, None]
        long *= scale[:, None, None]
        return wide.reshape(3 * self.width, width), long.reshape(3 * self.width)

    def _spread(self, weight: FloatArray) -> FloatArray:
        """The projection's inputs with padded heads."""
        outputs = len(weight)
        by_head = weight.reshape(outputs, self.heads, -1)
        return pad(by_head, outputs, self.heads, self.head).reshape(outputs, self.width)
