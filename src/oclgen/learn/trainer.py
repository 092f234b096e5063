"""The training loop, one for both models: fetch, differentiate, step; now and then report, validate, save.

A step is a function of the settings, the weights and the position in the stream of batches, never of the clock, so a
run that is stopped and resumed repeats what an uninterrupted one does. The clock decides two things only: when to
stop, and, with `schedule.time`, how many steps there will be; that decision is taken once and saved.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oclgen.data.examples import Batch, Position
from oclgen.errors import OclgenError
from oclgen.learn.distributed import World
from oclgen.learn.export import export, load_weights, network_weights, save_state
from oclgen.learn.objectives import Sums, make_network, measure, targets, to_tensors, tokens
from oclgen.learn.optim import decision_point, make_optimizers, rate, set_rates
from oclgen.learn.reports import Reporter
from oclgen.learn.settings import TrainingSettings
from oclgen.learn.sources import Sources
from oclgen.support.settings import format_duration, parse_duration

PLANNED_SHARE = 0.97
"""Of the time given, what is planned for steps; the rest is for the last validation and for a slower machine."""

COUNTED = 1 + len(Sums._fields)

Completion = Callable[[Path], dict[str, float]]
"""How well a checkpoint's rollouts do."""


@dataclass
class Progress:
    """Where a run stands: all that is saved beside weights and optimizers."""

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0  # of training, over every resumption
    total: int | None = None  # steps of the whole run, once known
    validations: int = 0
    best: float = math.inf
    best_step: int = 0
    data: str = ""
    window: list[float] = field(default_factory=lambda: [0.0] * COUNTED)  # targets, then `Sums`


class Trainer:
    """A run in one process (of perhaps several)."""

    def __init__(
        self, settings: TrainingSettings, folder: Path, sources: Sources, world: World, completion: Completion | None
    ) -> None:
        self.settings, self.folder, self.sources, self.world = settings, folder, sources, world
        self.completion = completion
        torch.manual_seed(settings.run.seed)
        self.shape = sources.shape
        self.network = make_network(self.shape, sources.origin.language, settings.model.dropout).to(world.device)
        if settings.run.initial:
            load_weights(self.network, Path(settings.run.initial), self.shape)
        self.parameters = list(self.network.parameters())
        self.optimizers = make_optimizers(self.network, settings.optimizer)
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=settings.run.precision == "float16")
        self.progress = Progress(total=self.planned_steps(), data=sources.fingerprint)
        self.metrics: dict[str, Any] = {}

    def planned_steps(self) -> int | None:
        schedule = self.settings.schedule
        per_epoch = len(self.sources.training.epoch(0).batches) / self.settings.run.accumulate
        return schedule.steps or math.ceil(schedule.epochs * per_epoch) or None

    def most_steps(self) -> float:
        """The bound on a run whose length is a time."""
        per_epoch = len(self.sources.training.epoch(0).batches) / self.settings.run.accumulate
        return self.settings.schedule.most_epochs * per_epoch or math.inf

    def state(self) -> dict[str, Any]:
        return {
            "network": self.network.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "scaler": self.scaler.state_dict(),
            "progress": asdict(self.progress),
            "metrics": self.metrics,
        }

    def restore(self, state: dict[str, Any], another_length: bool = False) -> None:
        """Go on from a saved state. A length that the settings give anew replaces the old one."""
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.scaler.load_state_dict(state["scaler"])
        data, planned = self.progress.data, self.progress.total
        self.progress = Progress(**state["progress"])
        self.progress.data = data
        if planned or another_length:
            self.progress.total = planned
        self.metrics = state["metrics"]

    def run(self, reporter: Reporter, max_time: float | None, interrupted: Callable[[], bool]) -> str:
        """Train until the end, the time limit or an interruption; returns which."""
        self.reporter = reporter
        self.started = time.monotonic() - self.progress.seconds
        limit = self.time_limit(max_time)
        self.saved = self.logged = time.monotonic()
        self.logged_tokens, self.preparing = 0, 0.0
        while True:
            following, group = self.timed_fetch()
            count, read, stop, seconds = self.agree(group, interrupted())
            self.progress.seconds = seconds
            self.decide_length(seconds)
            reason = self.reason_to_stop(stop > 0, seconds, limit)
            if reason is not None:
                return self.finish(reason)
            self.step(group, int(count))
            self.logged_tokens += int(read)
            self.progress.step += 1
            self.progress.epoch, self.progress.index = following
            self.after_step()

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
        stream = self.sources.training.stream(position, self.world.rank, self.world.size)
        group = []
        for following, batch in stream:
            group.append(batch)
            if len(group) == self.settings.run.accumulate:
                yield following, group
                group = []

    def agree(self, group: list[Batch], stop: bool) -> list[float]:
        """Summed over processes: targets, tokens, wishes to stop; and the first process's clock."""
        seconds = time.monotonic() - self.started if self.world.rank == 0 else 0.0
        values = [float(sum(map(targets, group))), float(sum(map(tokens, group))), float(stop), seconds]
        return self.world.sum(torch.tensor(values, dtype=torch.float64, device=self.world.device)).tolist()

    def decide_length(self, seconds: float) -> None:
        budget, progress, most = self.settings.schedule.seconds, self.progress, self.most_steps()
        point = decision_point(self.settings.schedule)
        if progress.total is None and (seconds >= point * budget or progress.step >= point * most):
            planned = math.floor(progress.step * budget / seconds * PLANNED_SHARE)
            progress.total = max(progress.step + 1, math.ceil(min(planned, most)))
            self.reporter.record("schedule", progress.step, {"seconds": seconds, "total_steps": progress.total})
            self.reporter.say(
                f"step {progress.step}, {format_duration(seconds)}: the run will have {progress.total} steps"
            )

    def reason_to_stop(self, interrupted: bool, seconds: float, limit: float) -> str | None:
        if self.progress.total is not None and self.progress.step >= self.progress.total:
            return "finished"
        if interrupted:
            return "interrupted"
        return "time" if seconds >= limit else None

    def step(self, group: list[Batch], count: int) -> None:
        self.network.train()
        if self.settings.model.dropout:
            torch.manual_seed(hash((self.settings.run.seed, self.progress.step, self.world.rank)))
        sums = torch.zeros(COUNTED - 1, dtype=torch.float64, device=self.world.device)
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        for batch in group:
            if len(batch["prompt_len"]):
                found = self.measured(batch)
                self.scaler.scale(found.loss / count).backward()
                sums += torch.stack([value.detach().double() for value in found])
        self.world.sum_gradients(self.parameters)
        totals = [float(count), *self.world.sum(sums).tolist()]
        self.descend(totals[1] / count, group)
        self.progress.window = [old + new for old, new in zip(self.progress.window, totals, strict=True)]

    def measured(self, batch: Batch) -> Any:
        precision = getattr(torch, self.settings.run.precision)
        with torch.autocast(self.world.device.type, precision, enabled=precision is not torch.float32):
            return measure(self.network, to_tensors(batch, self.world.device), self.settings.model.cost_weight)

    def descend(self, loss: float, group: list[Batch]) -> None:
        """Clip, check, move."""
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        limit = self.settings.optimizer.clip or math.inf
        self.norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, limit))
        if not math.isfinite(loss) or not (math.isfinite(self.norm) or self.scaler.is_enabled()):
            self.give_up(loss, group)
        set_rates(self.optimizers, rate(self.settings.schedule, self.progress.step, self.progress.total))
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()

    def give_up(self, loss: float, group: list[Batch]) -> None:
        """Keep the batch and the weights that met it: what is needed to find out why."""
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
        values = self.averages(self.progress.window)
        self.progress.window = [0.0] * COUNTED
        speed = self.logged_tokens / (now - self.logged)
        share = rate(self.settings.schedule, self.progress.step - 1, self.progress.total)
        preparation = self.preparing / (now - self.logged)
        extra = {"rate": share, "norm": self.norm, "tokens_per_second": speed, "preparation": preparation}
        self.reporter.record("train", self.progress.step, values | extra)
        self.reporter.status(self.status(values, speed))
        self.logged, self.logged_tokens, self.preparing = now, 0, 0.0

    def averages(self, sums: list[float]) -> dict[str, float]:
        count, loss, correct, error, costs, cost_loss = sums
        values = {"loss": loss / count, "accuracy": correct / count}
        if costs:
            values["error"] = error / costs
        if cost_loss:
            values |= {
                "token_loss": (loss - self.settings.model.cost_weight * cost_loss) / count,
                "cost_loss": cost_loss / costs,
            }
        return values

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
        self.network.eval()
        sums = torch.zeros(COUNTED, dtype=torch.float64, device=self.world.device)
        examples = 0
        for batch in self.sources.validation.validation(self.world.rank, self.world.size):
            if len(batch["prompt_len"]):
                found = self.measured(batch)
                sums += torch.stack([torch.tensor(float(targets(batch))), *(value.cpu() for value in found)]).to(sums)
            examples += len(batch["prompt_len"]) * self.world.size
            if examples >= self.settings.run.validation_examples:
                break
        values = self.averages(self.world.sum(sums).tolist())
        self.progress.validations += 1
        self.metrics["validation"] = values | {"step": self.progress.step}
        self.reporter.record("validation", self.progress.step, values)
        numbers = "  ".join(f"{name} {value:.4f}" for name, value in (values | self.rollouts()).items())
        self.reporter.say(f"step {self.progress.step}: validation  {numbers}")
        if values["loss"] < self.progress.best:
            self.progress.best, self.progress.best_step = values["loss"], self.progress.step
            self.export("best")

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
            export(self.folder / name, self.shape, network_weights(self.network), self.sources.origin, metrics)

    def save(self) -> None:
        if self.world.rank == 0:
            save_state(self.folder / "state.pt", self.state())
        self.saved = time.monotonic()

    def finish(self, reason: str) -> str:
        """A last look at a run that ends here, or a quick save of one that will go on."""
        if reason != "interrupted" and self.metrics.get("validation", {}).get("step") != self.progress.step:
            self.validate()
        self.progress.seconds = time.monotonic() - self.started
        self.export("last")
        self.save()
        return reason
