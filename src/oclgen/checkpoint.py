"""The reader of checkpoints: folders with settings, vocabulary and weights.

Whatever is broken or does not fit the settings is refused with one line that says what.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file

from oclgen.encoding.kinds import WORDS
from oclgen.encoding.vocabulary import Vocabulary
from oclgen.errors import InputError

FORMAT = 1
KINDS = WORDS.checkpoints
NETWORKS = {"policy": "gpt2", "heuristic": "bert"}
NORM_EPSILON = {"gpt2": 1e-5, "bert": 1e-12}
DTYPES = (np.float32, np.float16)

FloatArray = npt.NDArray[np.float32]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The shape of a network: what `settings.json` says."""

    kind: str
    encoding: str
    layers: int
    heads: int
    width: int
    inner: int
    max_prompt: int
    max_plan: int = 0  # positions of plan tokens, `<actions>` included (policy)
    max_cost: int = 0  # largest cost-to-go with a class of its own (heuristic)
    revision: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"settings.json: kind is {self.kind!r}, must be one of {', '.join(KINDS)}")
        if self.encoding != WORDS.name:
            raise InputError(f"settings.json: encoding is {self.encoding!r}, must be {WORDS.name}")
        limit = "max_plan" if self.kind == "policy" else "max_cost"
        check_sizes(self, ("layers", "heads", "width", "inner", "max_prompt", limit))

    @property
    def network(self) -> str:
        return NETWORKS[self.kind]

    @property
    def positions(self) -> int:
        """Of prompt and plan together."""
        return self.max_prompt + (self.max_plan if self.kind == "policy" else 0)


class HasHeads(Protocol):
    """Settings of a network with attention."""

    @property
    def width(self) -> int: ...

    @property
    def heads(self) -> int: ...


def check_sizes(settings: HasHeads, names: Iterable[str]) -> None:
    """Refuse sizes that are no positive integers, and a width that the heads cannot share."""
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"settings.json: {name} is {value!r}, must be a positive integer")
    if settings.width % settings.heads:
        raise InputError(f"settings.json: width {settings.width} is not a multiple of heads {settings.heads}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint; weights are float32."""

    folder: Path
    settings: ModelSettings
    vocabulary: Vocabulary
    weights: Mapping[str, FloatArray]

    @property
    def domain_text(self) -> str:
        return read_text(self.folder / "domain.pddl")


def load_checkpoint(folder: Path | str, kind: str | None = None) -> Checkpoint:
    """Read a checkpoint folder; `kind` is what the caller needs it to be."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such checkpoint folder")
    settings = read_settings(folder / "settings.json")
    if kind is not None:
        require_kind(settings, kind, folder)
    vocabulary = read_vocabulary(folder / "vocabulary.json")
    weights = read_weights(folder / "weights.safetensors")
    check_shapes(weights, tensor_shapes(settings, vocabulary), folder / "weights.safetensors")
    return Checkpoint(folder, settings, vocabulary, weights)


def require_kind(settings: ModelSettings, kind: str, folder: Path) -> None:
    if settings.kind != kind:
        raise InputError(f"{folder}: this is a {settings.kind}, a {kind} is needed")


def read_format(path: Path) -> dict[str, Any]:
    """What a settings.json of this format says, not yet checked."""
    values = read_json(path)
    if values.get("format") != FORMAT:
        raise InputError(f"{path}: format {values.get('format')!r} is not {FORMAT}; another version of oclgen wrote it")
    return values


def read_settings(path: Path) -> ModelSettings:
    values = read_format(path)
    fields = ModelSettings.__dataclass_fields__
    try:
        return ModelSettings(**{name: values[name] for name in fields if values.get(name) is not None})
    except TypeError:
        missing = [name for name in fields if name not in values]
        raise InputError(f"{path}: missing {', '.join(missing)}") from None
    except InputError as error:
        raise InputError(f"{path.parent}/{error}") from None


def read_vocabulary(path: Path) -> Vocabulary:
    try:
        return Vocabulary.from_json(read_text(path))
    except InputError as error:
        raise InputError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({describe(error)})") from None


def read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON ({error.msg})") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return values


def describe(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def read_weights(path: Path) -> dict[str, FloatArray]:
    """All tensors of a safetensors file, as float32."""
    try:
        tensors = load_file(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({describe(error)})") from None
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: broken safetensors file, perhaps cut short ({error})") from None
    for name, values in tensors.items():
        if values.dtype not in DTYPES:
            raise InputError(f"{path}: tensor {name} is of type {values.dtype}, must be float32 or float16")
    return {name: np.asarray(values, dtype=np.float32) for name, values in tensors.items()}


def check_shapes(weights: Mapping[str, FloatArray], expected: Mapping[str, Shape], path: Path) -> None:
    for name, shape in expected.items():
        if name not in weights:
            raise InputError(f"{path}: tensor {name} is missing")
        actual = weights[name].shape
        if actual != shape:
            wanted = "x".join(map(str, shape))
            raise InputError(
                f"{path}: tensor {name} is {'x'.join(map(str, actual))}, settings and vocabulary ask for {wanted}"
            )
        if not np.isfinite(weights[name]).all():
            raise InputError(f"{path}: tensor {name} holds values that are not numbers")
    if extra := sorted(weights.keys() - expected.keys()):
        raise InputError(f"{path}: unknown tensor {extra[0]}")


def tensor_shapes(settings: ModelSettings, vocabulary: Vocabulary) -> dict[str, Shape]:
    """Every tensor of such a network."""
    shapes: dict[str, Shape] = {
        "token.weight": (vocabulary.size, settings.width),
        "position.weight": (settings.positions, settings.width),
    }
    for layer in range(settings.layers):
        shapes |= block_shapes(f"block.{layer}", settings.width, settings.inner)
    shapes |= norm_shapes("norm" if settings.kind == "policy" else "embedding_norm", settings.width)
    if settings.kind == "policy":
        return shapes
    shapes |= linear_shapes("pooler", settings.width, settings.width)
    return shapes | linear_shapes("classifier", settings.max_cost + 1, settings.width)


def block_shapes(name: str, width: int, inner: int) -> dict[str, Shape]:
    return (
        norm_shapes(f"{name}.norm1", width)
        | linear_shapes(f"{name}.attention", 3 * width, width)
        | linear_shapes(f"{name}.projection", width, width)
        | norm_shapes(f"{name}.norm2", width)
        | linear_shapes(f"{name}.up", inner, width)
        | linear_shapes(f"{name}.down", width, inner)
    )


def linear_shapes(name: str, outputs: int, inputs: int) -> dict[str, Shape]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm_shapes(name: str, width: int) -> dict[str, Shape]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}
