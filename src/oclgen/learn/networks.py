"""The two networks: a GPT-2 decoder that writes plans and a BERT encoder that classifies cost-to-go.

Both read a prompt (state and goal). With the `words` encoding they are transformers' GPT-2 and BERT to the digit
(tests copy the weights over and compare); with `atoms` the prompt is a set: one row per atom, no positions,
attention both ways inside it, and only the plan after it is causal; with `objects` the atoms that begin with the
same object are one row. Scores are computed where the loss needs them and nowhere else: the last block runs on the
plan's rows (policy) or on the pooled row (heuristic) only.

Parameter names are the tensor names of a checkpoint. Paper: Section 5 (models), Appendix "Training Details".
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from oclgen.checkpoint import NORM_EPSILON, ModelSettings
from oclgen.encoding.objects import FIRST_ARGUMENT
from oclgen.encoding.vocabulary import ACTIONS, Vocabulary
from oclgen.learn.recompute import run_layer

INITIAL_DEVIATION = 0.02
SEGMENTS = 3

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Queries, keys and values [batch, heads, rows, width / heads] to mixed values of the same shape as the queries."""


class Block(nn.Module):
    """The layers of one transformer block; where the norms stand is the network's business."""

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


class SlotEmbedding(nn.Module):
    """One table per argument slot; row 0 means that the predicate has no such argument."""

    def __init__(self, slots: int, objects: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(slots, objects + 1, width))


class AtomEmbedding(nn.Module):
    """Predicate + segment + one embedding per argument, summed: an atom is one row, wherever it stands."""

    predicate: nn.Embedding
    segment: nn.Embedding
    argument: SlotEmbedding
    pooled: bool
    recompute = False  # activations of a layer, where gradients need them

    def add_atoms(self, settings: ModelSettings, vocabulary: Vocabulary) -> None:
        self.pooled, width = settings.encoding == "objects", settings.width
        predicates, objects = len(vocabulary.predicates), len(vocabulary.objects)
        self.predicate = nn.Embedding(predicates, width)
        self.segment = nn.Embedding(SEGMENTS, width)
        self.argument = SlotEmbedding(vocabulary.slots, objects, width)
        first_slot = predicates + SEGMENTS
        slots = [first_slot + slot * (objects + 1) for slot in range(vocabulary.slots)]
        self.register_buffer("offsets", torch.tensor([0, predicates, *slots]), persistent=False)

    def embed_atoms(self, prompt: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Prompt rows [batch, length, 2 + slots] to [batch, length, width]: one summing lookup in one table.

        And how many rows each example has: as many as atoms, or as objects where these are pooled."""
        table = torch.cat([self.predicate.weight, self.segment.weight, self.argument.weight.flatten(0, 1)])
        indices = (prompt + self.get_buffer("offsets")).flatten(0, 1)
        rows = F.embedding_bag(indices, table, mode="sum").view(*prompt.shape[:2], -1)
        return self.pool(rows, prompt[:, :, FIRST_ARGUMENT], lengths) if self.pooled else (rows, lengths)

    def pool(self, rows: Tensor, speaks_of: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The positive parts of the atoms that speak of the same object, added up, and how many objects there are."""
        objects = torch.arange(self.argument.weight.shape[1], device=rows.device)
        inside = torch.arange(rows.shape[1], device=rows.device) < lengths[:, None]
        belongs = (speaks_of[:, None] == objects[:, None]) & inside[:, None]
        present = belongs.any(dim=2)
        counts = present.sum(dim=1)
        first = present.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, : int(counts.max())]
        chosen = belongs.gather(1, first[:, :, None].expand(-1, -1, rows.shape[1]))
        return chosen.to(rows.dtype) @ rows.relu(), counts


class PolicyNetwork(AtomEmbedding):
    """Scores every token of a plan given the state, the goal and the tokens before it."""

    def __init__(self, settings: ModelSettings, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__()
        self.settings = settings
        self.token = nn.Embedding(vocabulary.size, settings.width)
        if settings.encoding == "words":
            self.position = nn.Embedding(settings.max_prompt + settings.max_plan, settings.width)
        else:
            self.position = nn.Embedding(settings.max_plan, settings.width)
            self.add_atoms(settings, vocabulary)
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
        forward = self.words if self.settings.encoding == "words" else self.atoms
        return F.linear(self.norm(forward(prompt, prompt_len, shifted, plan_len)), self.token.weight)

    def words(self, prompt: Tensor, prompt_len: Tensor, plan: Tensor, plan_len: Tensor) -> Tensor:
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

        return self.blocks(x, attend, slice(None))[(place >= start) & (place < end)]

    def atoms(self, prompt: Tensor, prompt_len: Tensor, plan: Tensor, plan_len: Tensor) -> Tensor:
        """The prompt attends to itself both ways; the plan to the prompt and to its own past."""
        rows, prompt_len = self.embed_atoms(prompt, prompt_len)
        length, steps = rows.shape[1], plan.shape[1]
        place = torch.arange(steps, device=plan.device)
        x = torch.cat([rows, self.token(plan) + self.position(place)], dim=1)
        outside = padding_mask(prompt_len, length, x.dtype)
        future = torch.full((steps, steps), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
        mask = torch.cat([outside.expand(-1, 1, steps, length), future.expand(len(plan), 1, steps, steps)], dim=-1)

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            dropout = self.attention_dropout()
            plan_rows = F.scaled_dot_product_attention(query[:, :, -steps:], key, value, mask, dropout)
            if query.shape[2] == steps:
                return plan_rows
            known = query[:, :, :length], key[:, :, :length], value[:, :, :length]
            return torch.cat([F.scaled_dot_product_attention(*known, outside, dropout), plan_rows], dim=2)

        behind = self.blocks(self.dropout(x), attend, slice(length, None))
        return behind[place < plan_len[:, None]]

    def blocks(self, x: Tensor, attend: Attend, last_rows: slice) -> Tensor:
        def layer(block: Block, x: Tensor, rows: slice) -> Tensor:
            x = x[:, rows] + block.attended(block.norm1(x), attend, rows)
            return x + block.expanded(block.norm2(x), "tanh")

        for block in self.block:
            assert isinstance(block, Block)
            rows = last_rows if block is self.block[-1] else slice(None)
            x = run_layer(self.recompute, layer, block, x, rows)
        return x

    def attention_dropout(self) -> float:
        return self.dropout.p if self.training else 0.0


class HeuristicNetwork(AtomEmbedding):
    """Scores every cost-to-go from 0 to `max_cost` given the state and the goal."""

    def __init__(self, settings: ModelSettings, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__()
        self.settings = settings
        if settings.encoding == "words":
            self.token = nn.Embedding(vocabulary.size, settings.width)
            self.position = nn.Embedding(settings.max_prompt, settings.width)
        else:
            self.add_atoms(settings, vocabulary)
            self.cls = nn.Parameter(torch.empty(settings.width))
        self.embedding_norm = nn.LayerNorm(settings.width, eps=NORM_EPSILON["bert"])
        self.dropout = nn.Dropout(dropout)
        self.block = nn.ModuleList(Block(settings, dropout) for _ in range(settings.layers))
        self.pooler = nn.Linear(settings.width, settings.width)
        self.classifier = nn.Linear(settings.width, settings.max_cost + 1)
        initialise(self, residual_depth=1)

    def forward(self, prompt: Tensor, prompt_len: Tensor) -> Tensor:
        """Scores [batch, max_cost + 1]."""
        if self.settings.encoding == "words":
            x = self.token(prompt[:, :, 0]) + self.position.weight[: prompt.shape[1]]
        else:
            x, prompt_len = self.embed_atoms(prompt, prompt_len)
            x = torch.cat([self.cls.expand(len(x), 1, -1).to(x.dtype), x], dim=1)
            prompt_len = prompt_len + 1
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


class PlanStartHeuristic(PolicyNetwork):
    """A policy's network that, where a plan would begin, scores its length instead of its first token.

    Not the paper's: it can start from a trained policy, which knows already what is in place and what is not.
    """

    def __init__(self, settings: ModelSettings, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__(settings, vocabulary, dropout)
        self.pooler = nn.Linear(settings.width, settings.width)
        self.classifier = nn.Linear(settings.width, settings.max_cost + 1)
        initialise(self, residual_depth=2 * settings.layers)

    def forward(self, prompt: Tensor, prompt_len: Tensor) -> Tensor:  # type: ignore[override]
        """Scores [batch, max_cost + 1]."""
        opening = prompt.new_full((len(prompt), 1), ACTIONS)
        forward = self.words if self.settings.encoding == "words" else self.atoms
        pooled = self.norm(forward(prompt, prompt_len, opening, torch.ones_like(prompt_len)))
        scores: Tensor = self.classifier(self.dropout(torch.tanh(self.pooler(pooled))))
        return scores


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
