"""The reader of checkpoints: folders with settings, vocabulary and weights.

Whatever is broken or does not fit the settings is refused with one line that says what.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file

from oclgen.encoding.choices import PLANS
from oclgen.encoding.vocabulary import Vocabulary
from oclgen.errors import InputError

FORMAT = 1
KINDS = ("policy", "heuristic")
ENCODINGS = ("atoms", "objects", "words")
NETWORKS = {"policy": ("gpt2",), "heuristic": ("bert", "gpt2")}
"""Which networks a kind of model can have; the first is the paper's."""
NORM_EPSILON = {"gpt2": 1e-5, "bert": 1e-12}
DTYPES = (np.float32, np.float16)

FloatArray = npt.NDArray[np.float32]
Shape = tuple[int, ...]
SEGMENTS = 3


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
    network: str = ""  # a heuristic's: bert, or gpt2: the policy's network, read at the opening token of the plan
    plans: str = "whole"  # or choices: a policy writes, a heuristic judges only where there is an alternative
    revision: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"settings.json: kind is {self.kind!r}, must be one of {', '.join(KINDS)}")
        if self.encoding not in ENCODINGS:
            raise InputError(f"settings.json: encoding is {self.encoding!r}, must be one of {', '.join(ENCODINGS)}")
        if self.plans not in PLANS:
            raise InputError(f"settings.json: plans is {self.plans!r}, must be one of {', '.join(PLANS)}")
        if not self.network:
            object.__setattr__(self, "network", NETWORKS[self.kind][0])
        if self.network not in NETWORKS[self.kind]:
            allowed = " or ".join(NETWORKS[self.kind])
            raise InputError(f"settings.json: the network of a {self.kind} is {self.network!r}, must be {allowed}")
        limits = ["max_plan"] * (self.network == "gpt2") + ["max_cost"] * (self.kind == "heuristic")
        for name in ("layers", "heads", "width", "inner", "max_prompt", *limits):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"settings.json: {name} is {value!r}, must be a positive integer")
        if self.width % self.heads:
            raise InputError(f"settings.json: width {self.width} is not a multiple of heads {self.heads}")


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


def read_settings(path: Path) -> ModelSettings:
    values = read_json(path)
    if values.get("format") != FORMAT:
        raise InputError(f"{path}: format {values.get('format')!r} is not {FORMAT}; another version of oclgen wrote it")
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
    shapes = embedding_shapes(settings, vocabulary)
    for layer in range(settings.layers):
        shapes |= block_shapes(f"block.{layer}", settings.width, settings.inner)
    shapes |= norm_shapes("norm" if settings.network == "gpt2" else "embedding_norm", settings.width)
    if settings.kind == "policy":
        return shapes
    shapes |= linear_shapes("pooler", settings.width, settings.width)
    return shapes | linear_shapes("classifier", settings.max_cost + 1, settings.width)


def embedding_shapes(settings: ModelSettings, vocabulary: Vocabulary) -> dict[str, Shape]:
    width, plans = settings.width, settings.network == "gpt2"
    tokens: dict[str, Shape] = {"token.weight": (vocabulary.size, width)}
    if settings.encoding == "words":
        positions = settings.max_prompt + (settings.max_plan if plans else 0)
        return tokens | {"position.weight": (positions, width)}
    shapes: dict[str, Shape] = {
        "predicate.weight": (len(vocabulary.predicates), width),
        "argument.weight": (vocabulary.slots, len(vocabulary.objects) + 1, width),
        "segment.weight": (SEGMENTS, width),
    }
    if plans:
        return shapes | tokens | {"position.weight": (settings.max_plan, width)}
    return shapes | {"cls": (width,)}


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
