"""A network, its optimizers, and one step of them. The trainer decides which batches make a step."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oclgen.data.examples.batches import Batch
from oclgen.encoding import Vocabulary
from oclgen.encoding.relational import Schema
from oclgen.learn.export import load_weights
from oclgen.learn.networks.objectives import Shape, Sums, make_network, measure, to_tensors
from oclgen.learn.optim import make_optimizers, set_rates
from oclgen.learn.settings import TrainingSettings


class Learner:
    """A network and its optimizers. Initial weights depend on the seed, or come from a checkpoint."""

    def __init__(
        self, settings: TrainingSettings, shape: Shape, language: Vocabulary | Schema, device: torch.device
    ) -> None:
        self.settings, self.device = settings, device
        torch.manual_seed(settings.run.seed)
        self.network = make_network(shape, language, settings.model.dropout, settings.run.recompute).to(device)
        if settings.run.initial:
            load_weights(self.network, Path(settings.run.initial), shape)
        self.parameters = list(self.network.parameters())
        self.optimizers = make_optimizers(self.network, settings.optimizer)
        self.scaler = torch.amp.GradScaler(device.type, enabled=settings.run.precision == "float16")

    def state(self) -> dict[str, Any]:
        return {
            "network": self.network.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "scaler": self.scaler.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.scaler.load_state_dict(state["scaler"])

    def measured(self, batch: Batch) -> Sums:
        precision = getattr(torch, self.settings.run.precision)
        with torch.autocast(self.device.type, precision, enabled=precision is not torch.float32):
            return measure(self.network, to_tensors(batch, self.device), self.settings.model.cost_weight)

    def differentiate(self, batches: Iterable[tuple[int, Batch]], count: int) -> Tensor:
        """Add the gradients of batches, one batch in memory at a time; the step has `count` targets in all.

        Each batch comes with the seed of its dropout. Returns the batches' `Sums`.
        """
        self.network.train()
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        sums = torch.zeros(len(Sums._fields), dtype=torch.float64, device=self.device)
        for seed, batch in batches:
            if len(batch["prompt_len"]):
                if self.settings.model.dropout:
                    torch.manual_seed(seed)
                found = self.measured(batch)
                self.scaler.scale(found.loss / count).backward()  # type: ignore[no-untyped-call]
                sums += torch.stack([value.detach().double() for value in found])
        return sums

    def clip(self) -> float:
        """Clip the gradient; returns its norm before clipping."""
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        limit = self.settings.optimizer.clip or math.inf
        return float(torch.nn.utils.clip_grad_norm_(self.parameters, limit))

    def may_overflow(self) -> bool:
        """In float16 gradients overflow now and then: such a step is skipped, and the loss scale reduced."""
        return self.scaler.is_enabled()

    def descend(self, rate: float) -> None:
        """Step the optimizers, at a share of the full learning rate."""
        set_rates(self.optimizers, rate)
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()
