"""What the two networks minimise, and what is reported beside it.

Both losses are cross-entropy: over the tokens of the plan (never of the prompt), or over the cost-to-go.
They are sums, with their counts beside them, so that batches and processes of unequal size add up exactly.

Paper: Section 3 (policy), Section 4.4 (distributional heuristic).
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from oclgen.checkpoint import ModelSettings
from oclgen.data.examples import Batch
from oclgen.encoding import Vocabulary
from oclgen.learn.networks import HeuristicNetwork, PlanStartHeuristic, PolicyNetwork


class Sums(NamedTuple):
    """Over the examples of a batch: summed loss, right guesses, and distance of the guessed cost (heuristic)."""

    loss: Tensor
    correct: Tensor
    error: Tensor


def make_network(settings: ModelSettings, vocabulary: Vocabulary, dropout: float) -> nn.Module:
    if settings.kind == "policy":
        return PolicyNetwork(settings, vocabulary, dropout)
    kind = HeuristicNetwork if settings.network == "bert" else PlanStartHeuristic
    return kind(settings, vocabulary, dropout)


def targets(batch: Batch) -> int:
    """How many guesses a batch asks for."""
    return int(batch["plan_len"].sum()) if "plan_len" in batch else len(batch["cost"])


def tokens(batch: Batch) -> int:
    """How many rows and tokens a batch holds, padding not counted."""
    return int(batch["prompt_len"].sum()) + (int(batch["plan_len"].sum()) if "plan_len" in batch else 0)


def to_tensors(batch: Batch, device: torch.device) -> dict[str, Tensor]:
    return {name: torch.from_numpy(values).to(device, non_blocking=True) for name, values in batch.items()}


def measure(network: nn.Module, batch: Mapping[str, Tensor]) -> Sums:
    """The loss of a batch, to be differentiated, and what else is worth knowing."""
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
        return Sums(loss, (guess == wanted).sum(), (guess - wanted).abs().sum())
