"""A relational model's weights in the kernel's layout: padded, packed into panels, split by argument places.

The scale of the pointer scores is folded into their queries.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oclgen.inference.engine import FloatArray
from oclgen.inference.kernel.binding import Kernel, address, whole_panels
from oclgen.inference.kernel.network import Blocks, Linear, NativeModel, aligned, pad


class RelationalShape(Protocol):
    """The settings of a relational model that determine the shape of its network."""

    @property
    def width(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def inner(self) -> int: ...
    @property
    def relation(self) -> int: ...
    @property
    def encoder_layers(self) -> int: ...
    @property
    def decoder_layers(self) -> int: ...
    @property
    def max_plan(self) -> int: ...
    @property
    def distances(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class SchemaCounts:
    """What the network must know of its domain."""

    relations: tuple[int, ...]  # arities
    operators: tuple[int, ...]  # arities
    kinds: int


class RelationStruct(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("in_weight", "in_bias", "out_weight", "out_bias")]


class EncoderStruct(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("blocks", "relations", "norms", "arities")),
        *((name, ctypes.c_int32) for name in ("count", "message")),
    ]


DECODER_LINEAR = ("choose", "query", "key", "argument")
DECODER_TABLES = ("operator", "slot", "position")


class DecoderStruct(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("blocks", "norm_weight", "norm_bias")),
        *((f"{name}_{kind}", ctypes.c_void_p) for name in DECODER_LINEAR for kind in ("weight", "bias")),
        *((name, ctypes.c_void_p) for name in (*DECODER_TABLES, "arities")),
        *((name, ctypes.c_int32) for name in ("count", "max_plan")),
    ]


def integers(values: tuple[int, ...]) -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
    return np.array(values, np.int32)


class EncoderWeights:
    """The encoder; `place` is the address of its structure."""

    def __init__(
        self, kernel: Kernel, shape: RelationalShape, counts: SchemaCounts, weights: Mapping[str, FloatArray]
    ) -> None:
        blocks = Blocks("relational", shape.encoder_layers, shape.heads, shape.width, shape.inner)
        self.model = NativeModel(kernel, blocks, weights, "encoder.block")
        if shape.distances:
            self.model.bias_attention(weights["distance.weight"])
        self.width = self.model.width
        self._message = whole_panels(shape.relation)
        self._kernel = kernel
        self._arrays: list[FloatArray] = []
        layers, relations = range(shape.encoder_layers), range(len(counts.relations))
        names = [f"encoder.block.{layer}.relation.{i}" for layer in layers for i in relations]
        self._relations = (RelationStruct * len(names))(*(self._relation(name, weights) for name in names))
        self._arities = integers(counts.relations)
        before = [f"encoder.block.{layer}.norm0" if counts.relations else "encoder.norm" for layer in layers]
        norms = [f"{norm}.{kind}" for norm in (*before, "encoder.norm") for kind in ("weight", "bias")]
        self._norms = np.stack([pad(weights[name], self.width) for name in norms])
        self._struct = EncoderStruct(
            self.model.place,
            ctypes.addressof(self._relations),
            address(self._norms),
            address(self._arities),
            len(counts.relations),
            self._message,
        )
        self.place = ctypes.addressof(self._struct)

    def _relation(self, name: str, weights: Mapping[str, FloatArray]) -> RelationStruct:
        into, out, out_bias = (weights[f"{name}.{part}"] for part in ("in.weight", "out.weight", "out.bias"))
        width = len(weights["encoder.norm.weight"])
        arity = into.shape[1] // width
        arrays = (
            self._pack([into[:, i * width : (i + 1) * width] for i in range(arity)], self._message, self.width),
            pad(weights[f"{name}.in.bias"], self._message),
            self._pack([out[i * width : (i + 1) * width] for i in range(arity)], self.width, self._message),
            pad(out_bias.reshape(arity, width), arity, self.width),
        )
        self._arrays.extend(arrays)
        return RelationStruct(*map(address, arrays))

    def _pack(self, parts: list[FloatArray], outputs: int, inputs: int) -> FloatArray:
        packed = aligned(len(parts) * outputs * inputs).reshape(len(parts), -1)
        for part, panels in zip(parts, packed, strict=True):
            padded = pad(part, outputs, inputs)
            self._kernel.pack(outputs, inputs, address(padded), address(panels))
        return packed


class DecoderWeights:
    """The decoder; `place` is the address of its structure."""

    def __init__(
        self, kernel: Kernel, shape: RelationalShape, counts: SchemaCounts, weights: Mapping[str, FloatArray]
    ) -> None:
        blocks = Blocks("gpt2", shape.decoder_layers, shape.heads, shape.width, shape.inner)
        self.model = NativeModel(kernel, blocks, weights, "decoder.block")
        self.width = self.model.width
        self.choices = whole_panels(len(counts.operators) + 1)
        self.longest = 1 + max(counts.operators, default=0)
        norm = [pad(weights[f"decoder.norm.{kind}"], self.width) for kind in ("weight", "bias")]
        arrays = [*norm, *self._linear(kernel, shape, weights)]
        for name in DECODER_TABLES:
            table = weights[f"{name}.weight"]
            arrays.append(pad(table, len(table), self.width))
        self._arities = integers(counts.operators)
        self._arrays = arrays
        self._struct = DecoderStruct(
            self.model.place,
            *map(address, arrays),
            address(self._arities),
            len(counts.operators),
            shape.max_plan,
        )
        self.place = ctypes.addressof(self._struct)

    def _linear(self, kernel: Kernel, shape: RelationalShape, weights: Mapping[str, FloatArray]) -> list[FloatArray]:
        arrays = []
        for name in DECODER_LINEAR:
            scale = np.float32(shape.width**-0.5 if name == "query" else 1.0)
            weight, bias = weights[f"{name}.weight"] * scale, weights[f"{name}.bias"] * scale
            outputs = self.choices if name == "choose" else self.width
            layer = Linear(kernel, pad(weight, outputs, self.width), pad(bias, outputs))
            arrays += [layer.weight, layer.bias]
        return arrays


class CostWeights:
    """The cost head; `places` are the addresses of its layers."""

    def __init__(self, kernel: Kernel, width: int, weights: Mapping[str, FloatArray]) -> None:
        into = Linear(kernel, pad(weights["cost_in.weight"], width, width), pad(weights["cost_in.bias"], width))
        out = Linear(kernel, pad(weights["cost_out.weight"], 2, width), weights["cost_out.bias"])
        self._arrays = into.weight, into.bias, out.weight, out.bias
        self.places = tuple(map(address, self._arrays))
