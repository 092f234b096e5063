"""Records of arrays: many small ones joined end to end, kept in a folder, mapped into memory when read.

A record is a frozen dataclass of arrays. Fields called `*_begin` say where each instance's part of an array begins;
they hold one number more than there are instances. All other arrays are concatenated.
"""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from oclgen.errors import InputError
from oclgen.support.files import replacing_folder, write_json

Arrays = TypeVar("Arrays")


def array_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.name != "refused")


def join_arrays(records: Sequence[Arrays]) -> Arrays:
    """One record with the instances of all, in order."""
    kind: Any = type(records[0])
    joined: dict[str, Any] = {}
    for name in array_names(kind):
        values = [getattr(record, name) for record in records]
        if name.endswith("_begin"):
            sizes = np.concatenate([np.diff(value) for value in values])
            joined[name] = np.concatenate([[0], np.cumsum(sizes)])
        else:
            joined[name] = np.concatenate(values)
    refused = sum(record.refused for record in records)  # type: ignore[attr-defined]
    whole: Arrays = kind(**joined, refused=refused)
    return whole


def load_arrays(kind: type[Arrays], folder: Path) -> Arrays:
    try:
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in array_names(kind)}
        refused = json.loads((folder / "refused.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: broken ({error}); delete this folder, it will be made again") from error
    make: Any = kind
    record: Arrays = make(**arrays, refused=refused)
    return record


def save_arrays(records: Iterable[Any], folder: Path) -> None:
    """Write records joined end to end, one at a time in memory.

    The folder appears by rename, so it is always complete; if another process was faster, its folder stays.
    """
    try:
        folder.parent.mkdir(exist_ok=True)
        with replacing_folder(folder, keep=True) as made:
            refused = write_arrays(records, made)
            write_json(made / "refused.json", refused)
    except OSError as error:
        raise InputError(f"{folder.parent}: {error.strerror or error}") from error


def write_arrays(records: Iterable[Any], folder: Path) -> int:
    """One growing file per array; returns how many problems were refused."""
    files: dict[str, GrowingArray] = {}
    refused = 0
    with ExitStack() as opened:
        for record in records:
            refused += record.refused
            for name in array_names(type(record)):
                values = getattr(record, name)
                if name not in files:
                    file = opened.enter_context((folder / f"{name}.npy").open("wb"))
                    files[name] = GrowingArray(file, values[:0])
                if name.endswith("_begin"):
                    values = files[name].continued(values)
                files[name].append(values)
        for growing in files.values():
            growing.finish()
    return refused


class GrowingArray:
    """An .npy file whose first dimension is not known yet: numpy's header leaves room for it."""

    def __init__(self, file: BinaryIO, like: NDArray[Any]) -> None:
        self._file, self._like, self._rows, self._end = file, like, 0, 0
        self._header = self._write_header()

    def append(self, values: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(values, self._like.dtype).tobytes())
        self._rows += len(values)

    def continued(self, begin: NDArray[Any]) -> NDArray[Any]:
        """`*_begin` numbers shifted to the end of what is written; the leading 0 is written once."""
        shifted = begin + self._end
        self._end = int(shifted[-1])
        return shifted[1:] if self._rows else shifted

    def finish(self) -> None:
        """Write the number of rows into the header."""
        self._file.seek(0)
        if self._write_header() != self._header:
            raise ValueError("the header of an array grew with its number of rows")

    def _write_header(self) -> int:
        shape = (self._rows, *self._like.shape[1:])
        description = {"descr": npy.dtype_to_descr(self._like.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self._file, description)
        return self._file.tell()
