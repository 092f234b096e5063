"""Activation checkpointing: keep what goes into a layer, and compute the rest again when its gradient is due.

Costs a third more computation and leaves one tensor per layer in memory. Random numbers (dropout) are repeated, so
gradients are the same.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint


def run_layer(recompute: bool, layer: Callable[..., Tensor], *inputs: Any) -> Tensor:
    if not recompute or not torch.is_grad_enabled():
        return layer(*inputs)
    result: Tensor = checkpoint(layer, *inputs, use_reentrant=False)
    return result
