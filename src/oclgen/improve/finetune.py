"""Finetuning: a network goes on learning from where it stands, by the ordinary training loop.

A relational model is one network with both heads; of a model with two networks both are trained side by side.

Paper: tab:ft_hyperparameters, tab:ft_hyperparameters_heuristic_model.
"""

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, fields, replace
from pathlib import Path

from oclgen.checkpoint import read_settings, read_vocabulary
from oclgen.data import dataset
from oclgen.data.examples.relational_store import open_relational_store
from oclgen.data.examples.replayed import JOB_ROWS
from oclgen.data.examples.words_store import open_store
from oclgen.encoding.kinds import RELATIONAL, WORDS, encoding_of
from oclgen.errors import InputError, OclgenError
from oclgen.improve.settings import Finetuning, ImproveSettings
from oclgen.learn.settings import Model, TrainingSettings
from oclgen.model_folders import encoding_kind, model_domain
from oclgen.relational_checkpoint import read_relational_settings
from oclgen.support.files import copy_folder, read_json
from oclgen.support.parallel import run_unordered


@dataclass(frozen=True, slots=True)
class FinetuneRun:
    """A training run that has a folder; `last` in it becomes the checkpoint `target`."""

    settings: TrainingSettings
    folder: Path
    target: Path


def finetune(settings: ImproveSettings, before: Path, folder: Path, workers: int) -> Iterator[str]:
    """From the model in `before` to the one in `folder`; the kind of each network as it is finished."""
    runs = [
        FinetuneRun(
            training_settings(kind, settings.tuning(kind), before / kind, folder / "data"),
            folder / "training" / kind,
            folder / kind,
        )
        for kind in kinds(before)
        if not (folder / kind).exists()
    ]
    for run in runs:
        encode(run, workers)
    yield from run_unordered(train_run, runs, min(workers, len(runs)))


def kinds(model: Path) -> tuple[str, ...]:
    """The networks that a model folder holds."""
    return encoding_kind(model).checkpoints


def check_window(settings: ImproveSettings, model: Path) -> None:
    """Refuse windows that do not fit into the network's plan positions."""
    kind = kinds(model)[0]
    operators = model_domain(model).operators.values()
    longest = 1 + max((operator.arity for operator in operators), default=0)
    window = settings.tuning(kind).data.window
    places = int(read_json(model / kind / "settings.json")["max_plan"])
    if window * longest > places:
        raise InputError(f"{kind}.data.window is {window}, but {places} plan positions hold {places // longest}")


def encode(run: FinetuneRun, workers: int) -> None:
    """Make the examples here, with all workers; the training runs, workers themselves, find them made."""
    data = dataset.open_dataset(run.settings.data.path)
    if not encoding_of(run.settings.kind).has_vocabulary:
        for split in ("train", "val"):
            open_relational_store(data, split, min(workers, 1 + data.count(split) // JOB_ROWS))
        return
    vocabulary = read_vocabulary(Path(run.settings.run.initial) / "vocabulary.json")
    for split in ("train", "val"):
        processes = min(workers, 1 + data.count(split) // JOB_ROWS)
        open_store(data, split, vocabulary, processes)


def training_settings(kind: str, tuning: Finetuning, initial: Path, data: Path) -> TrainingSettings:
    """The shape is that of the checkpoint to start from."""
    return TrainingSettings(
        kind=kind,
        model=network_shape(initial, tuning.dropout) if kind in WORDS.checkpoints else relational_shape(initial),
        data=replace(tuning.data, path=str(data)),
        optimizer=tuning.optimizer,
        schedule=tuning.schedule,
        run=replace(tuning.run, initial=str(initial)),
    )


def network_shape(initial: Path, dropout: float) -> Model:
    shape = read_settings(initial / "settings.json")
    sizes = {entry.name: getattr(shape, entry.name) for entry in fields(Model) if hasattr(shape, entry.name)}
    return Model(**sizes, dropout=dropout)


def relational_shape(initial: Path) -> Model:
    shape = read_relational_settings(initial / "settings.json")
    return Model(
        encoding=RELATIONAL.name,
        layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        width=shape.width,
        heads=shape.heads,
        inner=shape.inner,
        relation=shape.relation,
        max_plan=shape.max_plan,
    )


def train_run(run: FinetuneRun) -> str:
    """Train, or go on training after an interruption, and put the checkpoint in its place."""
    from oclgen.learn.train import train

    kind = run.settings.kind
    with redirect_stdout(Prefixed(kind)):
        outcome = train(run.settings, run.folder, resume=(run.folder / "state.pt").exists())
    if outcome.reason == "interrupted":
        raise OclgenError(f"finetuning the {kind} was interrupted; go on with --resume")
    copy_folder(run.folder / "last", run.target)
    if outcome.told_to_end:  # in its last moment
        raise OclgenError(f"interrupted when the {kind} was finetuned; go on with --resume")
    return kind


def copy_model(model: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kind in kinds(model):
        if not (folder / kind).exists():
            copy_folder(model / kind, folder / kind)
    copy_solve_settings(model, folder)


def copy_solve_settings(model: Path, folder: Path) -> None:
    """The search settings that suit a model suit its descendants."""
    if (model / "solve.toml").exists():
        shutil.copy(model / "solve.toml", folder / "solve.toml")


class Prefixed(io.TextIOBase):
    """Whole lines to the standard output, each with the name of the network that it is about."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pending = ""
        self._out = sys.stdout

    def write(self, text: str) -> int:
        *lines, self._pending = (self._pending + text).split("\n")
        for line in lines:
            self._out.write(f"{self._name}: {line}\n")
        self._out.flush()
        return len(text)
