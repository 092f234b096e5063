"""Records of arrays: many small ones joined end to end, kept in a folder, mapped into memory when read.

A record is a frozen dataclass of arrays. Fields called `*_begin` say where each instance's part of an array begins;
they hold one number more than there are instances. Everything else is plain concatenation.
"""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

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


def save_arrays(record: Any, folder: Path) -> None:
    """Appears by rename, so that a folder with this name is complete; another process may have been faster."""
    try:
        folder.parent.mkdir(exist_ok=True)
        with replacing_folder(folder, keep=True) as made:
            for name in array_names(type(record)):
                np.save(made / f"{name}.npy", getattr(record, name))
            write_json(made / "refused.json", record.refused)
    except OSError as error:
        raise InputError(f"{folder.parent}: {error.strerror or error}") from error
