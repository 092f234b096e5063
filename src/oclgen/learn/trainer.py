"""The training loop, one for all networks: fetch, differentiate, step; regularly report, validate, save.

A step depends on the settings, the weights and the position in the stream of batches, never on the clock, so a run that
is stopped and resumed computes what an uninterrupted one computes. The clock decides two things only: when to
stop, and, with `schedule.time`, how many steps there will be; that decision is taken once and saved. A batch is as
large as the processes that began the run could take at once; more or fewer of them share the same batches later.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oclgen.data.examples.batches import Batch, Position, segments
from oclgen.errors import OclgenError
from oclgen.learn.distributed import ProcessLost, World
from oclgen.learn.export import export, network_weights, save_state
from oclgen.learn.learner import Learner
from oclgen.learn.networks.objectives import Sums, averages, targets, tokens
from oclgen.learn.optim import decision_point, rate
from oclgen.learn.reports import Reporter
from oclgen.learn.settings import TrainingSettings
from oclgen.learn.sources import Sources
from oclgen.support.settings import format_duration, parse_duration

PLANNED_SHARE = 0.97
"""The share of the time that is planned for steps; the rest is for the last validation and for delays."""

LEAST_VALIDATIONS = 10
"""With fewer, a loss that has stopped falling is not told from noise."""

COUNTED = 1 + len(Sums._fields)

Completion = Callable[[Path], dict[str, float]]
"""Measures a checkpoint's rollouts."""


@dataclass
class TrainingProgress:
    """The progress of a run: all that is saved beside weights and optimizers."""

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0  # of training, over every resumption
    total: int | None = None  # steps of the whole run, once known
    validations: int = 0
    best: float = math.inf
    best_step: int = 0
    data: str = ""
    processes: int = 0  # for which the size of a batch was chosen
    window: list[float] = field(default_factory=lambda: [0.0] * COUNTED)  # targets, then `Sums`


class Trainer:
    """A run in one process (of perhaps several)."""

    def __init__(
        self, settings: TrainingSettings, folder: Path, sources: Sources, world: World, completion: Completion | None
    ) -> None:
        self.settings, self.folder, self.sources, self.world = settings, folder, sources, world
        self.completion = completion
        self.learner = Learner(settings, sources.shape, sources.origin.language, world.device)
        self.steps_per_pass = sources.training.batches_per_pass() / settings.run.accumulate
        self.shares = world.shares(sources.processes)
        self.progress = TrainingProgress(
            total=self.planned_steps(), data=sources.fingerprint, processes=sources.processes
        )
        self.metrics: dict[str, Any] = {}

    def planned_steps(self) -> int | None:
        schedule = self.settings.schedule
        return schedule.steps or math.ceil(schedule.epochs * self.steps_per_pass) or None

    def most_steps(self) -> float:
        """The bound on a run whose length is a time."""
        return self.settings.schedule.most_epochs * self.steps_per_pass or math.inf

    def state(self) -> dict[str, Any]:
        return {**self.learner.state(), "progress": asdict(self.progress), "metrics": self.metrics}

    def restore(self, state: dict[str, Any], another_length: bool = False) -> None:
        """Go on from a saved state. A length that the settings give anew replaces the old one."""
        self.learner.restore(state)
        data, processes, planned = self.progress.data, self.progress.processes, self.progress.total
        self.progress = TrainingProgress(**state["progress"])
        self.progress.data, self.progress.processes = data, processes
        if planned or another_length:
            self.progress.total = planned
        self.metrics = state["metrics"]

    def run(self, reporter: Reporter, max_time: float | None, interrupted: Callable[[], bool]) -> str:
        """Train until the end, the time limit or an interruption; returns which of them."""
        self.reporter = reporter
        self.started = time.monotonic() - self.progress.seconds
        limit = self.time_limit(max_time)
        self.saved = self.logged = time.monotonic()
        self.logged_tokens, self.preparing = 0, 0.0
        while True:
            with self.saved_if_others_are_lost():
                reason = self.advance(interrupted, limit)
                if reason is not None:
                    return self.finish(reason)
                self.after_step()

    def advance(self, interrupted: Callable[[], bool], limit: float) -> str | None:
        """Take a step, or say why not. Weights change last, when no other process is needed any more."""
        following, group = self.timed_fetch()
        count, read, stop, seconds = self.agree(group, interrupted())
        self.progress.seconds = seconds
        self.decide_length(seconds)
        reason = self.reason_to_stop(stop > 0, seconds, limit)
        if reason is None:
            self.step(group, int(count))
            self.logged_tokens += int(read)
            self.progress.step += 1
            self.progress.epoch, self.progress.index = following
        return reason

    @contextmanager
    def saved_if_others_are_lost(self) -> Iterator[None]:
        """Where another process is lost, save the last whole step, if this process writes the state."""
        try:
            yield
        except ProcessLost as lost:
            self.save()
            what = f"step {self.progress.step} is saved" if self.world.rank == 0 else f"see {self.folder / 'state.pt'}"
            raise ProcessLost(f"{lost}; {what}: go on with the same command and --resume") from None

    def time_limit(self, max_time: float | None) -> float:
        """In seconds of training: `--max-time` counts from this start, `schedule.time` from the very first."""
        if self.settings.schedule.time:
            return self.settings.schedule.seconds
        return math.inf if max_time is None else self.progress.seconds + max_time

    def timed_fetch(self) -> tuple[Position, list[Batch]]:
        start = time.monotonic()
        fetched = next(self.groups())
        self.preparing += time.monotonic() - start
        return fetched

    def groups(self) -> Iterator[tuple[Position, list[Batch]]]:
        """The batches of the next step, and the position after them."""
        position = Position(self.progress.epoch, self.progress.index)
        streams = [self.sources.training.stream(position, *share) for share in self.shares]
        group: list[Batch] = []
        for batches in zip(*streams, strict=True):
            group += [batch for _, batch in batches]
            if len(group) == self.settings.run.accumulate * len(self.shares):
                yield batches[0][0], group
                group = []

    def agree(self, group: list[Batch], stop: bool) -> list[float]:
        """Summed over processes: targets, tokens, wishes to stop; and the first process's clock."""
        seconds = time.monotonic() - self.started if self.world.rank == 0 else 0.0
        values = [float(sum(map(targets, group))), float(sum(map(tokens, group))), float(stop), seconds]
        return self.world.sum(torch.tensor(values, dtype=torch.float64, device=self.world.device)).tolist()

    def decide_length(self, seconds: float) -> None:
        budget, progress = self.settings.schedule.seconds, self.progress
        point = decision_point(self.settings.schedule)
        stale = self.is_stale()
        most = progress.step / point if stale else self.most_steps()
        if progress.total is None and (stale or seconds >= point * budget or progress.step >= point * most):
            planned = math.floor(progress.step * budget / seconds * PLANNED_SHARE)
            progress.total = max(progress.step + 1, math.ceil(min(planned, most)))
            self.reporter.record("schedule", progress.step, {"seconds": seconds, "total_steps": progress.total})
            self.reporter.say(
                f"step {progress.step}, {format_duration(seconds)}: the run will have {progress.total} steps"
            )

    def is_stale(self) -> bool:
        """Whether the validation loss has its least value so long ago that the decay should begin."""
        stale, progress = self.settings.schedule.stale, self.progress
        return 0 < stale < 1 - progress.best_step / max(1, progress.step) and progress.validations >= LEAST_VALIDATIONS

    def reason_to_stop(self, interrupted: bool, seconds: float, limit: float) -> str | None:
        if self.progress.total is not None and self.progress.step >= self.progress.total:
            return "finished"
        if interrupted:
            return "interrupted"
        return "time" if seconds >= limit else None

    def step(self, group: list[Batch], count: int) -> None:
        sums = self.learner.differentiate(zip(self.seeds(len(group)), group, strict=True), count)
        self.world.sum_gradients(self.learner.parameters)
        totals = [float(count), *self.world.sum(sums).tolist()]
        loss, self.norm = totals[1] / count, self.learner.clip()
        if not math.isfinite(loss) or not (math.isfinite(self.norm) or self.learner.may_overflow()):
            self.give_up(loss, group)
        self.learner.descend(rate(self.settings.schedule, self.progress.step, self.progress.total))
        self.progress.window = [old + new for old, new in zip(self.progress.window, totals, strict=True)]

    def seeds(self, count: int) -> list[int]:
        """For the dropout of each batch of this step: they depend on its share, not on the process that computes it."""
        turns = (divmod(number, len(self.shares)) for number in range(count))
        return [hash((self.settings.run.seed, self.progress.step, turn, *self.shares[i])) for turn, i in turns]

    def give_up(self, loss: float, group: list[Batch]) -> None:
        """Save the batch and the weights, to find out what went wrong."""
        step = self.progress.step
        path = self.folder / f"diverged-step-{step}-rank-{self.world.rank}.npz"
        arrays = {f"{name}_{number}": values for number, batch in enumerate(group) for name, values in batch.items()}
        np.savez(path, **arrays)  # type: ignore[arg-type]
        if self.world.rank == 0:
            save_state(self.folder / f"diverged-step-{step}.pt", self.state())
        raise OclgenError(
            f"step {step}: the loss is {loss}, its gradient's norm {self.norm}; "
            f"the batch is in {path}, the weights beside it; a lower learning rate may help"
        )

    def after_step(self) -> None:
        run, step = self.settings.run, self.progress.step
        if step % run.log_every == 0:
            self.log()
        if step % run.validate_every == 0:
            self.validate()
        if time.monotonic() - self.saved > parse_duration(run.save_every):
            self.save()

    def log(self) -> None:
        now = time.monotonic()
        values = averages(self.progress.window, self.settings.model.cost_weight)
        self.progress.window = [0.0] * COUNTED
        speed = self.logged_tokens / (now - self.logged)
        share = rate(self.settings.schedule, self.progress.step - 1, self.progress.total)
        preparation = self.preparing / (now - self.logged)
        extra = {"rate": share, "norm": self.norm, "tokens_per_second": speed, "preparation": preparation}
        self.reporter.record("train", self.progress.step, values | extra)
        self.reporter.status(self.status(values, speed))
        self.logged, self.logged_tokens, self.preparing = now, 0, 0.0

    def status(self, values: dict[str, float], speed: float) -> str:
        progress = self.progress
        seconds = time.monotonic() - self.started
        share = progress.step / progress.total if progress.total else seconds / self.settings.schedule.seconds
        left = seconds / share - seconds
        best = f"  best val {progress.best:.4f}" if progress.best_step else ""
        numbers = "  ".join(f"{name} {value:.4f}" for name, value in values.items())
        steps = f"step {progress.step}/{progress.total or '?'}"
        return f"{steps}  {numbers}{best}  {speed:,.0f} tokens/s  {format_duration(left)} left"

    @torch.no_grad()
    def validate(self) -> None:
        self.learner.network.eval()
        sums = torch.zeros(COUNTED, dtype=torch.float64, device=self.world.device)
        for batch in self.validation_batches():
            if len(batch["prompt_len"]):
                found = self.learner.measured(batch)
                sums += torch.stack([torch.tensor(float(targets(batch))), *(value.cpu() for value in found)]).to(sums)
        values = averages(self.world.sum(sums).tolist(), self.settings.model.cost_weight)
        self.progress.validations += 1
        self.metrics["validation"] = values | {"step": self.progress.step}
        self.reporter.record("validation", self.progress.step, values)
        numbers = "  ".join(f"{name} {value:.4f}" for name, value in (values | self.rollouts()).items())
        self.reporter.say(f"step {self.progress.step}: validation  {numbers}")
        if values["loss"] < self.progress.best:
            self.progress.best, self.progress.best_step = values["loss"], self.progress.step
            self.export("best")

    def validation_batches(self) -> Iterator[Batch]:
        """This process's shares of whole batches, up to a number of examples that does not depend on processes."""
        validation, examples = self.sources.validation, 0
        streams = zip(*(validation.validation(*share) for share in self.shares), strict=True)
        for epoch in range(segments(validation.size)):
            for instances in validation.epoch(epoch).batches:
                if examples >= self.settings.run.validation_examples:
                    return
                examples += len(instances)
                yield from next(streams)

    def rollouts(self) -> dict[str, float]:
        """The generation metric, where it is due."""
        if self.completion is None or self.world.rank or self.progress.validations % self.settings.generation.every:
            return {}
        self.export("last")
        values = self.completion(self.folder / "last")
        self.metrics["generation"] = values | {"step": self.progress.step}
        self.reporter.record("generation", self.progress.step, values)
        return values

    def export(self, name: str) -> None:
        if self.world.rank == 0:
            metrics = self.metrics | {"step": self.progress.step, "seconds": self.progress.seconds}
            weights = network_weights(self.learner.network)
            export(self.folder / name, self.sources.shape, weights, self.sources.origin, metrics)

    def save(self) -> None:
        if self.world.rank == 0:
            save_state(self.folder / "state.pt", self.state())
        self.saved = time.monotonic()

    def finish(self, reason: str) -> str:
        """Validate and save a run that ends here; only save one that will be resumed."""
        if reason != "interrupted" and self.metrics.get("validation", {}).get("step") != self.progress.step:
            self.validate()
        self.progress.seconds = time.monotonic() - self.started
        self.export("last")
        self.save()
        return reason
