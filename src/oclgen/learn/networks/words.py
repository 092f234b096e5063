"""The paper's two networks: a GPT-2 decoder that writes plans and a BERT encoder that classifies cost-to-go.

Both read a prompt (state and goal) of words. They compute exactly what transformers' GPT-2 and BERT compute (tests
copy the weights and compare). Scores are computed only where the loss needs them: for the plan's tokens (policy); the
last block runs on the pooled row only (heuristic).

Parameter names are the tensor names of a checkpoint. Paper: Section 5 (models), Appendix "Training Details".
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from oclgen.checkpoint import NORM_EPSILON, ModelSettings
from oclgen.encoding.vocabulary import ACTIONS, Vocabulary
from oclgen.learn.networks.recompute import run_layer

INITIAL_DEVIATION = 0.02

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Queries, keys and values [batch, heads, rows, width / heads] to mixed values of the same shape as the queries."""


class Block(nn.Module):
    """The layers of one transformer block; the network applies the norms (before or after)."""

    def __init__(self, settings: ModelSettings, dropout: float) -> None:
        super().__init__()
        width, epsilon = settings.width, NORM_EPSILON[settings.network]
        self.heads = settings.heads
        self.norm1 = nn.LayerNorm(width, eps=epsilon)
        self.attention = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, eps=epsilon)
        self.up = nn.Linear(width, settings.inner)
        self.down = nn.Linear(settings.inner, width)
        self.dropout = nn.Dropout(dropout)

    def attended(self, x: Tensor, attend: Attend, rows: slice) -> Tensor:
        """Self-attention over all rows of `x` for those in `rows`."""
        if rows == slice(None):
            query, key, value = self.split(self.attention(x), 3)
        else:
            width = x.shape[-1]
            weight, bias = self.attention.weight, self.attention.bias
            (query,) = self.split(F.linear(x[:, rows], weight[:width], bias[:width]), 1)
            key, value = self.split(F.linear(x, weight[width:], bias[width:]), 2)
        mixed = attend(query, key, value).transpose(1, 2).flatten(2)
        projected: Tensor = self.dropout(self.projection(mixed))
        return projected

    def split(self, stacked: Tensor, parts: int) -> tuple[Tensor, ...]:
        batch, length, _ = stacked.shape
        return stacked.view(batch, length, parts, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def expanded(self, x: Tensor, approximate: str) -> Tensor:
        shrunk: Tensor = self.dropout(self.down(F.gelu(self.up(x), approximate=approximate)))
        return shrunk


class PolicyNetwork(nn.Module):
    """Scores every token of a plan given the state, the goal and the tokens before it."""

    recompute = False  # activations in the backward pass instead of keeping them

    def __init__(self, settings: ModelSettings, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__()
        self.settings = settings
        self.token = nn.Embedding(vocabulary.size, settings.width)
        self.position = nn.Embedding(settings.positions, settings.width)
        self.dropout = nn.Dropout(dropout)
        self.block = nn.ModuleList(Block(settings, dropout) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(settings.width, eps=NORM_EPSILON["gpt2"])
        initialise(self, residual_depth=2 * settings.layers)

    def forward(self, prompt: Tensor, prompt_len: Tensor, plan: Tensor, plan_len: Tensor) -> Tensor:
        """Scores [tokens of all plans, vocabulary], example by example, without padding.

        `plan` holds the tokens to predict; what the network reads is shifted by the opening token.
        """
        opening = plan.new_full((len(plan), 1), ACTIONS)
        shifted = torch.cat([opening, plan[:, :-1]], dim=1)
        return F.linear(self.norm(self.plan_rows(prompt, prompt_len, shifted, plan_len)), self.token.weight)

    def plan_rows(self, prompt: Tensor, prompt_len: Tensor, plan: Tensor, plan_len: Tensor) -> Tensor:
        """Prompt and plan without a gap between them, so that plain causal attention is right."""
        total = int((prompt_len + plan_len).max())
        place = torch.arange(total, device=plan.device)
        start, end = prompt_len[:, None], (prompt_len + plan_len)[:, None]
        source = torch.where(place < start, place, place - start + prompt.shape[1])
        tokens = torch.cat([prompt[:, :, 0], plan], dim=1).gather(
            1, source.clamp(max=prompt.shape[1] + plan.shape[1] - 1)
        )
        x = self.dropout(self.token(tokens) + self.position(place))

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=self.attention_dropout())

        return self.blocks(x, attend)[(place >= start) & (place < end)]

    def blocks(self, x: Tensor, attend: Attend) -> Tensor:
        def layer(block: Block, x: Tensor) -> Tensor:
            x = x + block.attended(block.norm1(x), attend, slice(None))
            return x + block.expanded(block.norm2(x), "tanh")

        for block in self.block:
            assert isinstance(block, Block)
            x = run_layer(self.recompute, layer, block, x)
        return x

    def attention_dropout(self) -> float:
        return self.dropout.p if self.training else 0.0


class HeuristicNetwork(nn.Module):
    """Scores every cost-to-go from 0 to `max_cost` given the state and the goal."""

    recompute = False  # as in a policy

    def __init__(self, settings: ModelSettings, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__()
        self.settings = settings
        self.token = nn.Embedding(vocabulary.size, settings.width)
        self.position = nn.Embedding(settings.positions, settings.width)
        self.embedding_norm = nn.LayerNorm(settings.width, eps=NORM_EPSILON["bert"])
        self.dropout = nn.Dropout(dropout)
        self.block = nn.ModuleList(Block(settings, dropout) for _ in range(settings.layers))
        self.pooler = nn.Linear(settings.width, settings.width)
        self.classifier = nn.Linear(settings.width, settings.max_cost + 1)
        initialise(self, residual_depth=1)

    def forward(self, prompt: Tensor, prompt_len: Tensor) -> Tensor:
        """Scores [batch, max_cost + 1]."""
        x = self.token(prompt[:, :, 0]) + self.position.weight[: prompt.shape[1]]
        mask = padding_mask(prompt_len, x.shape[1], x.dtype)
        pooled = self.blocks(self.dropout(self.embedding_norm(x)), mask)[:, 0]
        scores: Tensor = self.classifier(self.dropout(torch.tanh(self.pooler(pooled))))
        return scores

    def blocks(self, x: Tensor, mask: Tensor) -> Tensor:
        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(query, key, value, mask, self.dropout.p if self.training else 0.0)

        def layer(block: Block, x: Tensor, rows: slice) -> Tensor:
            x = block.norm1(x[:, rows] + block.attended(x, attend, rows))
            normed: Tensor = block.norm2(x + block.expanded(x, "none"))
            return normed

        for block in self.block:
            assert isinstance(block, Block)
            rows = slice(0, 1) if block is self.block[-1] else slice(None)
            x = run_layer(self.recompute, layer, block, x, rows)
        return x


def padding_mask(lengths: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """Additive mask [batch, 1, 1, size] that hides the rows beyond each length."""
    outside = torch.arange(size, device=lengths.device) >= lengths[:, None]
    return torch.zeros(outside.shape, dtype=dtype, device=lengths.device).masked_fill(outside, -torch.inf)[
        :, None, None
    ]


def initialise(network: nn.Module, residual_depth: int) -> None:
    """GPT-2's and BERT's initial weights: small normal ones, smaller where they add to the residual stream."""
    for name, parameter in network.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif "norm" not in name:
            into_residual = name.endswith(("projection.weight", "down.weight"))
            scale = math.sqrt(residual_depth) if into_residual else 1.0
            nn.init.normal_(parameter, std=INITIAL_DEVIATION / scale)
