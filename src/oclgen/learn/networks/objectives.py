"""What each network minimises, and what is reported beside it.

The losses of the paper's networks are cross-entropy: over the tokens of the plan (never of the prompt), or over the
cost-to-go. A relational network has both losses. All are sums with their counts, so that batches and processes of
unequal size add up exactly.

Paper: Section 3 (policy), Section 4.4 (distributional heuristic).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from oclgen.checkpoint import ModelSettings
from oclgen.data.examples.batches import Batch
from oclgen.encoding import Vocabulary
from oclgen.encoding.relational import Schema
from oclgen.learn.networks.relational import RelationalNetwork
from oclgen.learn.networks.words import HeuristicNetwork, PolicyNetwork
from oclgen.relational_checkpoint import RelationalSettings

Shape = ModelSettings | RelationalSettings
TAIL = 12.0
"""Scales from the mean beyond which the logistic's logarithm is taken as its tangent."""


class Sums(NamedTuple):
    """Over the examples of a batch. `loss` is what is minimised; the rest is reported."""

    loss: Tensor
    correct: Tensor  # correct predictions
    error: Tensor  # distance between predicted and true costs
    costs: Tensor  # number of costs predicted
    cost_loss: Tensor  # relational: the part of the costs in `loss`, before its weight


def make_network(
    settings: Shape, language: Vocabulary | Schema, dropout: float, recompute: bool = False
) -> RelationalNetwork | PolicyNetwork | HeuristicNetwork:
    network: RelationalNetwork | PolicyNetwork | HeuristicNetwork
    if isinstance(settings, RelationalSettings):
        assert isinstance(language, Schema)
        network = RelationalNetwork(settings, language)
    else:
        assert isinstance(language, Vocabulary)
        network = words_network(settings)(settings, language, dropout)
    network.recompute = recompute
    return network


def words_network(settings: ModelSettings) -> type[PolicyNetwork] | type[HeuristicNetwork]:
    if settings.kind == "policy":
        return PolicyNetwork
    return HeuristicNetwork


def targets(batch: Batch) -> int:
    """Number of predictions in a batch."""
    return int(batch["plan_len"].sum()) if "plan_len" in batch else len(batch["cost"])


def tokens(batch: Batch) -> int:
    """Rows and tokens of a batch, without padding."""
    return int(batch["prompt_len"].sum()) + (int(batch["plan_len"].sum()) if "plan_len" in batch else 0)


def to_tensors(batch: Batch, device: torch.device) -> dict[str, Tensor]:
    return {name: torch.from_numpy(values).to(device, non_blocking=True) for name, values in batch.items()}


def measure(network: nn.Module, batch: Mapping[str, Tensor], cost_weight: float = 1.0) -> Sums:
    """The loss of a batch, to be differentiated, and what is reported."""
    if isinstance(network, RelationalNetwork):
        return measure_relational(network, batch, cost_weight)
    if "plan" in batch:
        scores = network(batch["prompt"], batch["prompt_len"], batch["plan"], batch["plan_len"])
        plan = batch["plan"]
        wanted = plan[torch.arange(plan.shape[1], device=plan.device) < batch["plan_len"][:, None]]
    else:
        scores = network(batch["prompt"], batch["prompt_len"])
        wanted = batch["cost"].clamp(max=scores.shape[1] - 1)
    loss = F.cross_entropy(scores.float(), wanted, reduction="sum")
    with torch.no_grad():
        guess = scores.argmax(dim=1)
        costs = torch.tensor(0 if "plan" in batch else len(wanted), device=loss.device)
        error = (guess - wanted).abs().sum() * (costs > 0)
        return Sums(loss, (guess == wanted).sum(), error, costs, torch.zeros_like(loss))


def measure_relational(network: RelationalNetwork, batch: Mapping[str, Tensor], cost_weight: float) -> Sums:
    """Both heads: cross-entropy over operators and rows, and the likelihood of the cost-to-go."""
    plan, due = batch["plan"], batch["due"]
    rows, there = network.encode(batch)
    operators, pointers = network.decode(rows, there, plan, due)
    asked = torch.arange(plan.shape[1], device=plan.device) < batch["plan_len"][:, None]
    loss, correct = torch.zeros((), device=plan.device), torch.zeros((), dtype=torch.long, device=plan.device)
    choices = (operators, asked & (due == 0), 0), (pointers, asked & (due > 0), network.operators + 1)
    for scores, places, first in choices:
        wanted = plan[places] - first
        chosen = scores[places].float()
        loss = loss + F.cross_entropy(chosen, wanted, reduction="sum")
        correct = correct + (chosen.argmax(1) == wanted).sum()
    cost = batch["cost"].float()
    with torch.autocast(plan.device.type, enabled=False):  # sums over many rows need full precision
        mean, scale = network.cost(rows.float(), there)
    cost_loss = cost_surprise(cost, mean, scale).sum()
    with torch.no_grad():
        error = (mean - cost).abs().sum()
        costs = torch.tensor(len(cost), device=plan.device)
    return Sums(loss + cost_weight * cost_loss, correct, error, costs, cost_loss.detach())


def cost_surprise(cost: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    """-log P(cost) under the discretised logistic: exact near the mean, its linear tail far from it."""
    distance = (cost - mean).abs() / scale
    above = torch.sigmoid((cost + 0.5 - mean) / scale) - torch.sigmoid((cost - 0.5 - mean) / scale)
    return torch.where(distance > TAIL, distance + scale.log(), -above.clamp(min=1e-12).log())


def averages(sums: Sequence[float], cost_weight: float) -> dict[str, float]:
    """Means by name, from a number of targets and the `Sums` over them."""
    targets, loss, correct, error, costs, cost_loss = sums
    values = {"loss": loss / targets, "accuracy": correct / targets}
    if costs:
        values["error"] = error / costs
    if cost_loss:
        values |= {"token_loss": (loss - cost_weight * cost_loss) / targets, "cost_loss": cost_loss / costs}
    return values
