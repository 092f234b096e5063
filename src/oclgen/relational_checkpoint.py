"""A relational model on disk: `settings.json`, `domain.pddl`, `weights.safetensors`, and where they came from.

Both heads are in one file. What rows, atoms and plans are follows from the domain, so there is no vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oclgen.checkpoint import (
    Checkpoint,
    FloatArray,
    Shape,
    block_shapes,
    check_shapes,
    check_sizes,
    linear_shapes,
    load_checkpoint,
    norm_shapes,
    read_format,
    read_json,
    read_text,
    read_weights,
)
from oclgen.encoding.distances import FAR
from oclgen.encoding.kinds import RELATIONAL, encoding_of
from oclgen.encoding.relational import NOISE, Relation, Schema, schema_of
from oclgen.errors import InputError
from oclgen.pddl.reading.domain import read_domain

SIZES = ("width", "heads", "inner", "relation", "encoder_layers", "decoder_layers", "max_plan")
LEAST_SCALE = 0.3
"""Of the logistic over costs; below it the distribution is one integer."""


@dataclass(frozen=True, slots=True)
class RelationalSettings:
    """The shape of a network; `relations` are those that it has weights for."""

    width: int
    heads: int
    inner: int
    relation: int
    encoder_layers: int
    decoder_layers: int
    max_plan: int
    relations: tuple[Relation, ...] = ()
    distances: bool = False
    revision: str = ""
    kind: str = RELATIONAL.name
    encoding: str = RELATIONAL.name

    def __post_init__(self) -> None:
        check_sizes(self, SIZES)
        if not isinstance(self.distances, bool):
            raise InputError(f"settings.json: distances is {self.distances!r}, must be true or false")


@dataclass(frozen=True, slots=True)
class RelationalCheckpoint:
    """A loaded model; weights are float32."""

    folder: Path
    settings: RelationalSettings
    schema: Schema
    weights: Mapping[str, FloatArray]

    @property
    def domain_text(self) -> str:
        return read_text(self.folder / "domain.pddl")


AnyCheckpoint = Checkpoint | RelationalCheckpoint


def load_any(folder: Path, kind: str | None = None) -> AnyCheckpoint:
    """The checkpoint in a folder, of whatever encoding; `kind` is what the caller needs it to be."""
    held = kind or str(read_json(folder / "settings.json").get("kind"))
    return load_checkpoint(folder, kind) if encoding_of(held).has_vocabulary else load_relational(folder)


def load_relational(folder: Path | str) -> RelationalCheckpoint:
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such checkpoint folder")
    settings = read_relational_settings(folder / "settings.json")
    schema = schema_of(read_domain(folder / "domain.pddl"))
    check_relations(settings, schema, folder / "settings.json")
    weights = read_weights(folder / "weights.safetensors")
    check_shapes(weights, relational_shapes(settings, schema), folder / "weights.safetensors")
    return RelationalCheckpoint(folder, settings, schema, weights)


def read_relational_settings(path: Path) -> RelationalSettings:
    values = read_format(path)
    if values.get("kind") != RELATIONAL.name:
        raise InputError(f"{path}: this is a {values.get('kind')}, a relational model is needed")
    fields = RelationalSettings.__dataclass_fields__
    if missing := [name for name in (*SIZES, "relations", "distances") if name not in values]:
        raise InputError(f"{path}: missing {', '.join(missing)}")
    try:
        relations = tuple((str(name), int(segment)) for name, segment in values["relations"])
        return RelationalSettings(
            **{name: values[name] for name in fields if name in values and name != "relations"}, relations=relations
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
    except InputError as error:
        raise InputError(f"{path.parent}/{error}") from None


def check_relations(settings: RelationalSettings, schema: Schema, path: Path) -> None:
    known = set(schema.all_relations())
    for place, relation in enumerate(settings.relations):
        if relation not in known:
            raise InputError(f"{path}: relation {list(relation)} is not one of domain {schema.domain}")
        if relation in settings.relations[:place]:
            raise InputError(f"{path}: relation {list(relation)} is given twice")


def relational_shapes(settings: RelationalSettings, schema: Schema) -> dict[str, Shape]:
    """Every tensor of such a network."""
    width, operators = settings.width, len(schema.operators)
    shapes: dict[str, Shape] = {
        "kind.weight": (schema.kind_count, width),
        "noise.weight": (width, NOISE),
        "operator.weight": (operators + 2, width),
        "slot.weight": (max((0, *schema.operator_arities)) + 1, width),
        "position.weight": (settings.max_plan, width),
    }
    for name, outputs in (("argument", width), ("choose", operators + 1), ("query", width), ("key", width)):
        shapes |= linear_shapes(name, outputs, width)
    shapes |= linear_shapes("cost_in", width, width) | linear_shapes("cost_out", 2, width)
    if settings.distances:
        shapes["distance.weight"] = (settings.encoder_layers, FAR + 1, settings.heads)
    for stack, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        shapes |= norm_shapes(f"{stack}.norm", width)
        for layer in range(layers):
            shapes |= block_shapes(f"{stack}.block.{layer}", width, settings.inner)
    for layer in range(settings.encoder_layers):
        shapes |= message_shapes(f"encoder.block.{layer}", settings, schema)
    return shapes


def message_shapes(block: str, settings: RelationalSettings, schema: Schema) -> dict[str, Shape]:
    shapes: dict[str, Shape] = norm_shapes(f"{block}.norm0", settings.width) if settings.relations else {}
    for index, (name, _) in enumerate(settings.relations):
        inputs = schema.relation_arity(name) * settings.width
        shapes |= linear_shapes(f"{block}.relation.{index}.in", settings.relation, inputs)
        shapes |= linear_shapes(f"{block}.relation.{index}.out", inputs, settings.relation)
    return shapes
