"""Optimizers and learning-rate schedules.

Muon moves each matrix inside the blocks along the orthogonal factor of its momentum, so that every direction
of the matrix learns at the same pace; embeddings, norms, biases and heads stay with AdamW. The orthogonal
factor comes from five Newton-Schulz steps. They run in float32: in bfloat16, which most CPUs emulate, training
is less than half as fast. Matrices of one shape are orthogonalised together.

Paper: tab:pre_hyperparameters (AdamW, cosine or constant, 1000 steps of warm-up). Muon and the trapezoid are ours.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from oclgen.learn.settings import Optimizer, Schedule

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5


def orthogonalised(matrices: Tensor) -> Tensor:
    """Approximately the nearest (semi-)orthogonal matrix of each matrix [..., rows, columns], rows <= columns."""
    a, b, c = NEWTON_SCHULZ
    x: Tensor = matrices / (torch.linalg.matrix_norm(matrices, keepdim=True) + 1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised. A weight that stacks several square matrices (query, key, value) is treated as such."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float, momentum: float, weight_decay: float) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        assert closure is None
        for group in self.param_groups:
            for members in same_shape(group["params"]).values():
                self.move(members, group)

    def move(self, members: list[nn.Parameter], group: dict[str, Any]) -> None:
        stacked = torch.cat([square_parts(self.momentum_of(member, group["momentum"])) for member in members])
        wide = stacked if stacked.shape[1] <= stacked.shape[2] else stacked.mT
        update = orthogonalised(wide.float())
        update = update if wide is stacked else update.mT
        scale = math.sqrt(max(1.0, stacked.shape[1] / stacked.shape[2]))
        for member, part in zip(members, update.chunk(len(members)), strict=True):
            member.mul_(1 - group["lr"] * group["weight_decay"])
            member.add_(part.reshape(member.shape), alpha=-group["lr"] * scale)

    def momentum_of(self, member: nn.Parameter, momentum: float) -> Tensor:
        """Nesterov momentum: the gradient is added once more to its running mean."""
        state = self.state[member]
        if not state:
            state["momentum"] = torch.zeros_like(member)
        assert member.grad is not None
        state["momentum"].lerp_(member.grad, 1 - momentum)
        return member.grad.lerp(state["momentum"], momentum)


def same_shape(parameters: Iterable[nn.Parameter]) -> dict[torch.Size, list[nn.Parameter]]:
    groups: dict[torch.Size, list[nn.Parameter]] = {}
    for parameter in parameters:
        groups.setdefault(parameter.shape, []).append(parameter)
    return groups


def square_parts(matrix: Tensor) -> Tensor:
    """[parts, rows, columns]: three parts for the stacked query, key and value, one for anything else."""
    rows, columns = matrix.shape
    parts = 3 if rows == 3 * columns else 1
    return matrix.view(parts, rows // parts, columns)


def make_optimizers(network: nn.Module, settings: Optimizer) -> list[torch.optim.Optimizer]:
    """One optimizer, or two, each for its own parameters."""
    named = dict(network.named_parameters())
    hidden = [value for name, value in named.items() if "block." in name and value.ndim == 2]
    if settings.name == "adamw":
        return [adamw(list(named.values()), settings)]
    chosen = {id(value) for value in hidden}
    rest = [value for value in named.values() if id(value) not in chosen]
    return [adamw(rest, settings), Muon(hidden, settings.hidden_lr, settings.momentum, settings.weight_decay)]


def adamw(parameters: list[nn.Parameter], settings: Optimizer) -> torch.optim.AdamW:
    """Weight decay on matrices only, as usual."""
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    betas = (settings.betas[0], settings.betas[1])
    return torch.optim.AdamW([group for group in groups if group["params"]], settings.lr, betas, fused=True)


def rate(schedule: Schedule, step: int, total: int | None) -> float:
    """Share of the full learning rate at `step` (from 0) of `total`; None while the length is undecided."""
    share = min(1.0, (step + 1) / schedule.warmup) if schedule.warmup else 1.0
    if total is None or schedule.name == "constant":
        return share
    if schedule.name == "trapezoid":
        return min(share, max(0.0, (total - step) / max(1.0, schedule.decay * total)))
    progress = (step - schedule.warmup) / max(1, total - schedule.warmup)
    return share * 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, progress))))


def decision_point(schedule: Schedule) -> float:
    """The share of a run's time after which its number of steps must be decided."""
    return {"constant": 1.0, "trapezoid": 1 - schedule.decay, "cosine": 0.02}[schedule.name]


def set_rates(optimizers: Iterable[torch.optim.Optimizer], share: float) -> None:
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("full_lr", group["lr"]) * share
