"""`oclgen train`: set up or resume a run, train, and report how it ended.

The folder of a run: settings.json (resolved), state.pt (to resume from), metrics.jsonl, events/ (TensorBoard), and
two checkpoints, `best` by validation loss and `last`.
"""

import dataclasses
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from oclgen.errors import InputError
from oclgen.learn.distributed import join_world
from oclgen.learn.export import load_state
from oclgen.learn.reports import Reporter
from oclgen.learn.settings import TrainingSettings, read_settings, save_settings
from oclgen.learn.sources import Sources, open_sources
from oclgen.learn.trainer import Completion, Trainer
from oclgen.support.settings import format_duration, parse_duration


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `finished`, `time` or `interrupted`; the number of the signal, if one came while it ran. A run
    may be finished although there was a signal."""

    reason: str
    step: int
    best_loss: float
    best_step: int
    signal: int = 0

    @property
    def told_to_end(self) -> bool:
        return self.reason == "interrupted" or self.signal != 0


def train(settings: TrainingSettings, folder: Path, resume: bool = False, max_time: float | None = None) -> Outcome:
    """Run, or resume, the training that `settings` describe in `folder`. While it runs a signal saves and ends it; one
    that comes before, while examples are encoded, means what it means to the caller."""
    if settings.run.threads:
        torch.set_num_threads(settings.run.threads)
    patience = parse_duration(settings.run.patience)
    with flushing_denormals(), join_world(settings.run.device, patience) as world:
        resume = resume and began(folder)
        changed = check_folder(settings, folder, resume)
        state = load_state(folder / "state.pt") if resume else {}
        sources = open_sources(settings, world, processes(state))
        trainer = Trainer(settings, folder, sources, world, completion_metric(settings, sources))
        changes = [f"changed since the run began: {', '.join(changed)}"] if changed else []
        if resume:
            changes += restore(trainer, state, another_length="schedule.time" in changed)
        if world.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            save_settings(folder / "settings.json", settings)
        reporter = Reporter(folder, trainer.progress.step, silent=world.rank > 0)
        try:
            for line in [introduction(trainer), *changes]:
                reporter.say(line)
            with catching_signals() as caught:
                reason = trainer.run(reporter, max_time, lambda: bool(caught))
                reporter.say(conclusion(trainer, reason))
        finally:
            reporter.close()
        progress = trainer.progress
        return Outcome(reason, progress.step, progress.best, progress.best_step, caught[0] if caught else 0)


@contextmanager
def flushing_denormals() -> Iterator[None]:
    """Denormal numbers are flushed to zero while training, which is faster; afterwards all is as before."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def catching_signals() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM fill a list instead of ending the process; a second one ends it."""
    caught: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_folder(settings: TrainingSettings, folder: Path, resume: bool) -> list[str]:
    """Names of the settings that differ from those of the run in the folder."""
    if not resume:
        if (folder / "state.pt").exists():
            raise InputError(f"{folder}: holds a run already; go on with it by --resume, or give another --out")
        return []
    saved = folder / "settings.json"
    changed = compare(read_settings(saved), settings)
    fixed = [name for name in changed if name.startswith(("kind", "model."))]
    if fixed:
        raise InputError(f"{saved}: {fixed[0]} cannot change when a run is resumed")
    return changed


def compare(old: TrainingSettings, new: TrainingSettings) -> list[str]:
    """Dotted names of the settings that differ."""
    left, right = flat(dataclasses.asdict(old)), flat(dataclasses.asdict(new))
    return [name for name, value in left.items() if right[name] != value]


def flat(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in table.items():
        result |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return result


def began(folder: Path) -> bool:
    """Whether there is a run to resume; one that was lost before its first save starts from scratch."""
    return (folder / "state.pt").exists()


def processes(state: dict[str, Any]) -> int:
    """How many processes began a run; 0 if its state does not say."""
    return int(state["progress"].get("processes", 0)) if state else 0


def restore(trainer: Trainer, state: dict[str, Any], another_length: bool) -> list[str]:
    trainer.restore(state, another_length)
    changes = []
    if state["progress"]["data"] != trainer.progress.data:
        changes.append("the data set has changed since: this goes on with the new one")
    if trainer.progress.processes != trainer.world.size:
        changes.append(f"batches stay as large as for the {trainer.progress.processes} processes that began the run")
    return changes


def completion_metric(settings: TrainingSettings, sources: Sources) -> Completion | None:
    if settings.kind == "heuristic" or not sources.problems:
        return None
    from oclgen.learn.generation import completion
    from oclgen.pddl.task import PddlTask

    tasks = [PddlTask(sources.origin.domain_text, problem) for problem in sources.problems]
    measure: Callable[[Path], dict[str, float]] = partial(
        completion, tasks=tasks, settings=settings.generation, seed=settings.run.seed
    )
    return measure


def introduction(trainer: Trainer) -> str:
    settings, store = trainer.settings, trainer.sources.training.store
    weights = sum(parameter.numel() for parameter in trainer.learner.parameters)
    start = f"resuming at step {trainer.progress.step}" if trainer.progress.step else "starting"
    length = f"{trainer.progress.total} steps" if trainer.progress.total else settings.schedule.time
    return (
        f"{settings.kind}, {settings.model.layers} layers x {settings.model.width} ({weights / 1e6:.2f} M weights), "
        f"{len(store)} plans, {length} on {trainer.world.size} x {trainer.world.device}: {start}"
    )


def conclusion(trainer: Trainer, reason: str) -> str:
    progress, folder = trainer.progress, trainer.folder
    best = f"best validation loss {progress.best:.4f} at step {progress.best_step}, in {folder / 'best'}"
    if reason == "finished":
        return f"finished {progress.step} steps in {format_duration(progress.seconds)}: {best}"
    cause = "out of time" if reason == "time" else "interrupted"
    return f"{cause} at step {progress.step}, saved: {best if progress.best_step else folder}"
