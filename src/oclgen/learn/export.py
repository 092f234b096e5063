"""Writing: checkpoints (the folders that `oclgen.checkpoint` reads) and the state a run resumes from.

Both appear by rename, complete or not at all. A checkpoint stands alone: weights, settings, vocabulary, the
domain, the recipe of its data and its metrics. The state of a run is torch's own format and stays in its folder.
"""

import dataclasses
import json
import pickle
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save
from torch import nn

from oclgen import __version__
from oclgen.checkpoint import FORMAT, ModelSettings, load_checkpoint, read_settings
from oclgen.encoding import Vocabulary
from oclgen.errors import InputError


@dataclass(frozen=True, slots=True)
class Origin:
    """What a model is for and what it was made from."""

    vocabulary: Vocabulary
    domain_text: str
    recipe: Mapping[str, Any]


def export(
    folder: Path,
    settings: ModelSettings,
    weights: Mapping[str, np.ndarray[Any, Any]],
    origin: Origin,
    metrics: Mapping[str, Any],
    dtype: type[np.float16] | type[np.float32] = np.float32,
) -> None:
    """Write a checkpoint, replacing the one that may stand there."""
    written = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir(parents=True)
    made_by = {"revision": settings.revision or revision(), "versions": versions()}
    table = {"format": FORMAT, **dataclasses.asdict(settings), **made_by}
    write_json(written / "settings.json", table)
    (written / "vocabulary.json").write_text(origin.vocabulary.to_json(), encoding="utf-8")
    (written / "domain.pddl").write_text(origin.domain_text, encoding="utf-8")
    write_json(written / "recipe.json", origin.recipe)
    write_json(written / "metrics.json", metrics)
    arrays = {name: np.ascontiguousarray(value, dtype) for name, value in weights.items()}
    (written / "weights.safetensors").write_bytes(save(arrays))
    put_in_place(written, folder)


def put_in_place(written: Path, folder: Path) -> None:
    """A folder cannot be renamed onto another, so the old one steps aside first."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    written.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def ship(source: Path, target: Path) -> None:
    """Copy a checkpoint with its weights as float16: half the size, the same plans."""
    checkpoint = load_checkpoint(source)
    vocabulary = Vocabulary.from_json((source / "vocabulary.json").read_text(encoding="utf-8"))
    origin = Origin(vocabulary, checkpoint.domain_text, read_table(source / "recipe.json"))
    export(target, checkpoint.settings, checkpoint.weights, origin, read_table(source / "metrics.json"), np.float16)


def network_weights(network: nn.Module) -> dict[str, np.ndarray[Any, Any]]:
    return {name: value.detach().float().cpu().numpy() for name, value in network.state_dict().items()}


def load_weights(network: nn.Module, folder: Path, settings: ModelSettings) -> None:
    """Start from the weights of a checkpoint of the same shape; a heuristic with a policy's network may start from a
    policy's weights, all but its last two layers."""
    from_policy = settings.kind == "heuristic" and read_settings(folder / "settings.json").kind == "policy"
    checkpoint = load_checkpoint(folder, "policy" if from_policy else settings.kind)
    expected = dataclasses.replace(settings, kind="policy", max_cost=0) if from_policy else settings
    # what plans are written with changes no weight: a policy of choices may begin as one of whole plans
    if dataclasses.replace(checkpoint.settings, revision=settings.revision, plans=settings.plans) != expected:
        raise InputError(f"{folder}: its network has another shape than [model] asks for")
    weights = {name: torch.from_numpy(value.copy()) for name, value in checkpoint.weights.items()}
    network.load_state_dict(weights, strict=not from_policy)


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}.part")
    torch.save(dict(state), temporary)
    temporary.replace(path)


def load_state(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InputError(f"{path.parent}: no run to resume here (there is no {path.name})")
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read ({str(error).partition(chr(10))[0]})") from None
    return state


def write_json(path: Path, table: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def read_table(path: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


@cache
def revision() -> str:
    """The commit of the source tree that trains, or the release where there is none."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return __version__
    return f"{__version__}+{found}"


@cache
def versions() -> dict[str, str]:
    return {"oclgen": __version__, "torch": version("torch"), "numpy": version("numpy")}
