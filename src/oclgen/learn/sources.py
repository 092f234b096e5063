"""From settings to examples: the vocabulary, the data set, and the two streams of batches.

Everything that cannot fit the network (a prompt or a plan longer than its limits) is refused before the first step.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oclgen.checkpoint import read_json
from oclgen.data import dataset
from oclgen.data.dataset import Dataset
from oclgen.data.examples.relational import RelationalBatchSettings, RelationalExamples
from oclgen.data.examples.relational_store import RelationalStore, open_relational_store
from oclgen.data.examples.words import WordsBatchSettings, WordsExamples
from oclgen.data.examples.words_store import WordsStore, open_store
from oclgen.domains import catalog
from oclgen.domains.catalog import DomainSpec
from oclgen.encoding import Vocabulary, build_vocabulary
from oclgen.encoding.kinds import encoding_of
from oclgen.encoding.relational import Schema, schema_of
from oclgen.errors import InputError
from oclgen.learn.distributed import World
from oclgen.learn.export import Origin
from oclgen.learn.networks.objectives import Shape
from oclgen.learn.settings import TrainingSettings
from oclgen.pddl.reading.domain import read_domain
from oclgen.relational_checkpoint import RelationalSettings, read_relational_settings

PIECE = 1 << 16
"""Numbers of a store read together."""

AnyExamples = WordsExamples | RelationalExamples


@dataclass(frozen=True)
class Sources:
    """What a run is trained and validated on."""

    origin: Origin
    shape: Shape
    training: AnyExamples
    validation: AnyExamples
    problems: tuple[str, ...]  # validation problems for the generation metric
    processes: int = 1  # for which the size of a batch was chosen

    @property
    def fingerprint(self) -> str:
        """Tells one set of training plans from another."""
        store = self.training.store
        found = hashlib.sha256()
        for array in (store.ids, store.plan_begin):
            for begin in range(0, len(array), PIECE):
                found.update(array[begin : begin + PIECE].tobytes())
        return found.hexdigest()[:16]


def open_sources(settings: TrainingSettings, world: World, processes: int = 0) -> Sources:
    """The examples of a run, in batches for so many processes (default: as many as there are). A run that is resumed
    by more or fewer processes keeps the same batches."""
    if not settings.data.path:
        raise InputError("no data set: give --data DIR or data.path")
    data = dataset.open_dataset(settings.data.path)
    opened = words_sources if encoding_of(settings.kind).has_vocabulary else relational_sources
    return opened(settings, data, world, processes or world.size)


def words_sources(settings: TrainingSettings, data: Dataset, world: World, processes: int) -> Sources:
    vocabulary = find_vocabulary(settings, data)
    stores = [shared_store(data, split, vocabulary, world) for split in ("train", "val")]
    for store in stores:
        check_limits(store, settings)
    training, validation = (WordsExamples(store, vocabulary, batches(settings, processes)) for store in stores)
    origin = Origin(vocabulary, data.domain_text, recipe(settings, data, world))
    problems = validation_problems(settings, data)
    return Sources(origin, settings.shape(), training, validation, problems, processes)


def recipe(settings: TrainingSettings, data: Dataset, world: World) -> dict[str, Any]:
    """What a checkpoint says of its data, and of the data of the checkpoint that it began with (`initial`).

    Only the first process writes checkpoints; the others do not count rows.
    """
    if world.rank:
        return data.recipe
    earlier = Path(settings.run.initial) / "recipe.json"
    before = {"initial": read_json(earlier)} if settings.run.initial and earlier.exists() else {}
    return {**data.provenance(), **before}


def relational_sources(settings: TrainingSettings, data: Dataset, world: World, processes: int) -> Sources:
    schema = schema_of(read_domain(data.domain_text))
    training, validation = (shared_relational_store(data, split, world) for split in ("train", "val"))
    shape = relational_shape(settings, training, schema)
    limits = RelationalBatchSettings(
        tokens=settings.data.batch_tokens * processes or None,
        examples=settings.data.batch_examples * processes or None,
        window=settings.data.window,
        positions=settings.model.max_plan,
        compile=settings.data.offsets,
        seed=settings.run.seed,
    )

    def stream(store: RelationalStore) -> RelationalExamples:
        return RelationalExamples(store, schema, shape.relations, limits, shape.distances)

    origin = Origin(schema, data.domain_text, recipe(settings, data, world))
    problems = validation_problems(settings, data)
    return Sources(origin, shape, stream(training), stream(validation), problems, processes)


def relational_shape(settings: TrainingSettings, store: RelationalStore, schema: Schema) -> RelationalSettings:
    """The network's shape, with the relations of the checkpoint to start from, or else of the data."""
    if settings.run.initial:
        start = read_relational_settings(Path(settings.run.initial) / "settings.json")
        return settings.relational_shape(start.relations, start.distances)
    return settings.relational_shape(store.relations(schema), store.has_distances)


def validation_problems(settings: TrainingSettings, data: Dataset) -> tuple[str, ...]:
    rows = data.rows("val") if settings.generation.problems else iter(())
    return tuple(row.problem for _, row in zip(range(settings.generation.problems), rows, strict=False))


def find_vocabulary(settings: TrainingSettings, data: Dataset) -> Vocabulary:
    """The vocabulary of the checkpoint to start from, a given one, or one built from the domain's defaults."""
    if settings.run.initial:
        return read_vocabulary(Path(settings.run.initial) / "vocabulary.json")
    if settings.data.vocabulary:
        return read_vocabulary(Path(settings.data.vocabulary))
    table = find_domain(settings, data).defaults.encoding.as_table()
    return build_vocabulary(
        read_domain(data.domain_text), table if settings.data.left_out else table | {"left_out": []}
    )


def find_domain(settings: TrainingSettings, data: Dataset) -> DomainSpec:
    return catalog.load(settings.data.domain or str(data.recipe.get("source", "")))


def read_vocabulary(path: Path) -> Vocabulary:
    try:
        return Vocabulary.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def shared_store(data: Dataset, split: str, vocabulary: Vocabulary, world: World) -> WordsStore:
    """Made by the first process, read by all."""
    world.first(lambda: open_store(data, split, vocabulary, len(os.sched_getaffinity(0))))
    return open_store(data, split, vocabulary)


def shared_relational_store(data: Dataset, split: str, world: World) -> RelationalStore:
    world.first(lambda: open_relational_store(data, split, len(os.sched_getaffinity(0))))
    return open_relational_store(data, split)


def batches(settings: TrainingSettings, processes: int) -> WordsBatchSettings:
    data = settings.data
    return WordsBatchSettings(
        kind=settings.kind,
        tokens=data.batch_tokens * processes or None,
        examples=data.batch_examples * processes or None,
        window=data.window or None,
        compile=data.offsets,
        shuffle_names=data.shuffle_names,
        seed=settings.run.seed,
    )


def check_limits(store: WordsStore, settings: TrainingSettings) -> None:
    prompt = int(store.step_words.max())
    if prompt > settings.model.max_prompt:
        raise InputError(f"the longest prompt has {prompt} words; raise model.max_prompt ({settings.model.max_prompt})")
    if settings.kind == "policy":
        plan = store.longest_plan(settings.data.window)
        if plan > settings.model.max_plan:
            raise InputError(
                f"the longest plan to learn has {plan} tokens; "
                f"raise model.max_plan ({settings.model.max_plan}) or set data.window"
            )
