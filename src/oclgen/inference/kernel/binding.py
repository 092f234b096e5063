"""The compiled kernel, loaded with ctypes: one library for every Python, the best instruction set it holds.

Calls release the interpreter lock and share nothing, so threads may run several models at once.
"""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from oclgen.errors import InputError

LIBRARY = Path(__file__).with_name("libkernel.dll" if os.name == "nt" else "libkernel.so")
PANEL = 16
NETWORKS = ("gpt2", "bert", "relational")
"""As kernel.h numbers them."""

SEGMENT = np.dtype(
    [
        ("prefix", np.uintp),
        ("own", np.uintp),
        ("distances", np.uintp),
        ("prefix_length", np.int32),
        ("prefix_capacity", np.int32),
        ("own_capacity", np.int32),
        ("start", np.int32),
        ("rows", np.int32),
    ],
    align=True,
)
"""Consecutive rows of a batch that extend one cache; kernel.c explains the fields."""

BLOCK_TENSORS = tuple(
    f"{layer}.{kind}"
    for layer in ("norm1", "attention", "projection", "norm2", "up", "down")
    for kind in ("weight", "bias")
)


class BlockStruct(ctypes.Structure):
    _fields_ = [(name.replace(".", "_"), ctypes.c_void_p) for name in (*BLOCK_TENSORS, "distance")]


class ModelStruct(ctypes.Structure):
    _fields_ = [
        ("blocks", ctypes.c_void_p),
        *((name, ctypes.c_int32) for name in ("layers", "heads", "width", "inner", "norm_width", "network")),
        ("epsilon", ctypes.c_float),
    ]


@dataclass(frozen=True, slots=True)
class Kernel:
    """The functions of one variant of the library."""

    variant: str
    forward: Callable[..., int]
    layer_norm: Callable[..., None]
    linear: Callable[..., None]
    pack: Callable[..., None]
    normalise: Callable[..., None]
    draw: Callable[..., None]
    encode: Callable[..., int]
    cost: Callable[..., None]
    prepare: Callable[..., int]
    decode: Callable[..., int]
    act: Callable[..., int]


POINTER, INT, FLOAT = ctypes.c_void_p, ctypes.c_int32, ctypes.c_float
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "forward": (ctypes.c_int, [POINTER, POINTER, POINTER, INT, POINTER, POINTER]),
    "layer_norm": (None, [POINTER, INT, POINTER, POINTER, POINTER, POINTER]),
    "linear": (None, [INT, INT, INT, POINTER, POINTER, POINTER, POINTER]),
    "pack": (None, [INT, INT, POINTER, POINTER]),
    "normalise": (None, [INT, INT, INT, POINTER, POINTER]),
    "draw": (None, [INT, INT, INT, FLOAT, POINTER, POINTER, POINTER, POINTER]),
    "encode": (ctypes.c_int, [POINTER, INT, POINTER, POINTER, POINTER, POINTER]),
    "cost": (None, [INT, INT, *[POINTER] * 8]),
    "prepare": (ctypes.c_int, [POINTER, POINTER, POINTER]),
    "act": (ctypes.c_int, [POINTER, INT, *[POINTER] * 4, INT, *[POINTER] * 5]),
    "decode": (ctypes.c_int, [POINTER, INT, POINTER, POINTER, POINTER, POINTER, INT]),
}


def open_library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        advice = "reinstall with pip; in a checkout: python setup.py build_ext --inplace"
        raise InputError(f"{LIBRARY}: the compiled engine cannot be loaded ({error}); {advice}") from None


def variants() -> list[str]:
    """The variants that this machine can run, best first."""
    library = open_library()
    fast = library.supports_fast()
    return (["fast"] if fast else []) + ["baseline"]


@cache
def load_kernel(variant: str | None = None) -> Kernel:
    """The best variant for this machine, or the one named."""
    library = open_library()
    name = variant or variants()[0]
    functions = {}
    for function, (result, arguments) in SIGNATURES.items():
        found = getattr(library, f"{function}_{name}")
        found.restype, found.argtypes = result, arguments
        functions[function] = found
    return Kernel(name, **functions)


def whole_panels(length: int) -> int:
    return -(-length // PANEL) * PANEL


def address(array: npt.NDArray[Any]) -> int:
    """Where a contiguous array lies; the caller keeps it alive."""
    assert array.flags.c_contiguous
    return array.ctypes.data
