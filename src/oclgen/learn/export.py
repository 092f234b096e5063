"""Writing: checkpoints (the folders that `oclgen.checkpoint` reads) and the state a run resumes from.

Both appear by rename, complete or not at all. A checkpoint stands alone: weights, settings, vocabulary, the
domain, the recipe of its data and its metrics. The state of a run is torch's own format and stays in its folder.
"""

import dataclasses
import io
import os
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save
from torch import nn

from oclgen.checkpoint import FORMAT, ModelSettings
from oclgen.encoding import Vocabulary
from oclgen.encoding.relational import Schema
from oclgen.errors import InputError
from oclgen.relational_checkpoint import RelationalCheckpoint, RelationalSettings, load_any
from oclgen.support.files import read_json, replacing, replacing_folder, write_json, write_text
from oclgen.support.provenance import revision, versions


@dataclass(frozen=True, slots=True)
class Origin:
    """What a model is for and what it was made from."""

    language: Vocabulary | Schema
    domain_text: str
    recipe: Mapping[str, Any]


def export(
    folder: Path,
    settings: ModelSettings | RelationalSettings,
    weights: Mapping[str, np.ndarray[Any, Any]],
    origin: Origin,
    metrics: Mapping[str, Any],
    dtype: type[np.float16] | type[np.float32] = np.float32,
) -> None:
    """Write a checkpoint; one that is already there is replaced."""
    made_by = {"revision": settings.revision or revision(), "versions": versions("torch", "numpy")}
    arrays = {name: np.ascontiguousarray(value, dtype) for name, value in weights.items()}
    with replacing_folder(folder) as made:
        write_json(made / "settings.json", {"format": FORMAT, **dataclasses.asdict(settings), **made_by})
        if isinstance(origin.language, Vocabulary):
            write_text(made / "vocabulary.json", origin.language.to_json())
        write_text(made / "domain.pddl", origin.domain_text)
        write_json(made / "recipe.json", origin.recipe)
        write_json(made / "metrics.json", metrics)
        (made / "weights.safetensors").write_bytes(save(arrays))


def ship(source: Path, target: Path) -> None:
    """Copy a checkpoint with its weights as float16: half the size, the same plans."""
    metrics, recipe = read_json(source / "metrics.json"), read_json(source / "recipe.json")
    checkpoint = load_any(source)
    language = checkpoint.schema if isinstance(checkpoint, RelationalCheckpoint) else checkpoint.vocabulary
    origin = Origin(language, checkpoint.domain_text, recipe)
    export(target, checkpoint.settings, checkpoint.weights, origin, metrics, np.float16)


def network_weights(network: nn.Module) -> dict[str, np.ndarray[Any, Any]]:
    return {name: value.detach().float().cpu().numpy() for name, value in network.state_dict().items()}


def load_weights(network: nn.Module, folder: Path, settings: ModelSettings | RelationalSettings) -> None:
    """Start from the weights of a checkpoint of the same kind and shape."""
    start = load_any(folder, settings.kind)
    if dataclasses.replace(start.settings, revision=settings.revision) != settings:
        raise InputError(f"{folder}: its network has another shape than [model] asks for")
    network.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in start.weights.items()})


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """Written to disk before it replaces the last state, so that after a crash one of the two is there."""
    made = io.BytesIO()  # torch reports a full disk as an internal error
    torch.save(dict(state), made)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(made.getbuffer())
        file.flush()
        os.fsync(file.fileno())


def load_state(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InputError(f"{path.parent}: no run to resume here (there is no {path.name})")
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read ({str(error).partition(chr(10))[0]})") from None
    return state
