"""The relational network: one encoder, a decoder that writes plans, and a head for the cost-to-go.

Encoder layer: messages along atoms, attention among all rows of a state (biased by distances), feed-forward. The
decoder attends to the encoded rows and to its own past at once; an argument is a pointer to a row. The cost head adds
up a share of the mean and of the spread from every row, so it has no largest cost.

Not in the paper, which has GPT-2 and BERT over words; the distribution over costs is the paper's idea (Section 4.4).
"""

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from oclgen.encoding.distances import FAR
from oclgen.encoding.relational import NOISE, Schema
from oclgen.learn.networks.recompute import run_layer
from oclgen.relational_checkpoint import LEAST_SCALE, RelationalSettings

OUTPUTS = ("projection.weight", "down.weight", "out.weight")
"""Layers that add to the residual stream: their initial weights are small."""


class RelationMap(nn.Module):
    """Atoms of one relation: the rows of their arguments in, a message to each argument out."""

    def __init__(self, arity: int, width: int, hidden: int) -> None:
        super().__init__()
        self.arity = arity
        self.add_module("in", nn.Linear(arity * width, hidden))
        self.out = nn.Linear(hidden, arity * width)

    def forward(self, rows: Tensor, arguments: Tensor) -> Tensor:
        read: nn.Module = self.get_submodule("in")
        hidden = F.relu(read(rows[arguments].flatten(1)))
        messages: Tensor = self.out(hidden).view(-1, rows.shape[1])
        return messages


class Block(nn.Module):
    """Attention and feed-forward; with relations, messages before them."""

    def __init__(self, settings: RelationalSettings, arities: Sequence[int]) -> None:
        super().__init__()
        width = settings.width
        self.heads = settings.heads
        if arities:
            self.norm0 = nn.LayerNorm(width)
            self.relation = nn.ModuleList(RelationMap(arity, width, settings.relation) for arity in arities)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, settings.inner), nn.Linear(settings.inner, width)

    def relate(self, rows: Tensor, atoms: Sequence[Tensor], scale: Tensor) -> Tensor:
        """Rows of the whole batch, [all rows, width]; atoms of each relation, [count, arity]."""
        normed = self.norm0(rows)
        received = torch.zeros_like(rows)
        for relation, arguments in zip(self.relation, atoms, strict=True):
            received = received.index_add(0, arguments.flatten(), relation(normed, arguments).to(received.dtype))
        return rows + received * scale[:, None]

    def attend(self, x: Tensor, seen: Tensor, mask: Tensor) -> Tensor:
        """Attention of rows [batch, rows, width] over `seen`; the caller has normalised both."""
        width = x.shape[2]
        weight, bias = self.attention.weight, self.attention.bias
        query = F.linear(x, weight[:width], bias[:width]).view(*x.shape[:2], self.heads, -1).transpose(1, 2)
        both = F.linear(seen, weight[width:], bias[width:]).view(*seen.shape[:2], 2, self.heads, -1)
        key, value = both.permute(2, 0, 3, 1, 4).unbind(0)
        mixed: Tensor = self.projection(
            F.scaled_dot_product_attention(query, key, value, mask).transpose(1, 2).flatten(2)
        )
        return mixed

    def feed_forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return out

    def encode(self, flat: Tensor, atoms: Sequence[Tensor], scale: Tensor, place: Tensor, bias: Tensor) -> Tensor:
        """An encoder layer: [all rows, width] to [batch, rows, width]."""
        x = (self.relate(flat, atoms, scale) if atoms else flat)[place]
        normed = self.norm1(x)
        x = x + self.attend(normed, normed, bias)
        return x + self.feed_forward(x)

    def decode(self, x: Tensor, rows: Tensor, mask: Tensor) -> Tensor:
        """A decoder layer, which attends to the encoded rows and to earlier places."""
        normed = self.norm1(x)
        x = x + self.attend(normed, torch.cat([rows, normed], 1), mask.to(normed.dtype))
        return x + self.feed_forward(x)


class DistanceBias(nn.Module):
    """One learned number per layer, distance and head, added to the scores of attention."""

    def __init__(self, layers: int, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(layers, FAR + 1, heads))

    def forward(self, layer: int, distances: Tensor) -> Tensor:
        return self.weight[layer][distances].permute(0, 3, 1, 2)


class Stack(nn.Module):
    """Blocks and a final norm."""

    def __init__(self, layers: int, settings: RelationalSettings, arities: Sequence[int]) -> None:
        super().__init__()
        self.block = nn.ModuleList(Block(settings, arities) for _ in range(layers))
        self.norm = nn.LayerNorm(settings.width)


class RelationalNetwork(nn.Module):
    """Encoder, decoder and cost head."""

    recompute = False  # activations in the backward pass instead of keeping them

    def __init__(self, settings: RelationalSettings, schema: Schema) -> None:
        super().__init__()
        width, operators = settings.width, len(schema.operators)
        self.settings, self.operators = settings, operators
        arities = [schema.relation_arity(name) for name, _ in settings.relations]
        self.kind = nn.Embedding(schema.kind_count, width)
        self.noise = nn.Linear(NOISE, width, bias=False)
        self.encoder = Stack(settings.encoder_layers, settings, arities)
        if settings.distances:
            self.distance = DistanceBias(settings.encoder_layers, settings.heads)
        self.decoder = Stack(settings.decoder_layers, settings, ())
        self.operator = nn.Embedding(operators + 2, width)
        self.argument = nn.Linear(width, width)
        self.slot = nn.Embedding(max((0, *schema.operator_arities)) + 1, width)
        self.position = nn.Embedding(settings.max_plan, width)
        self.choose = nn.Linear(width, operators + 1)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.cost_in, self.cost_out = nn.Linear(width, width), nn.Linear(width, 2)
        self._initialise()

    def _initialise(self) -> None:
        for name, value in self.named_parameters():
            if value.ndim == 2:
                embedding = name.split(".")[0] in ("kind", "operator", "slot", "position")
                nn.init.normal_(value, std=0.02 if embedding else 1 / math.sqrt(value.shape[1]))
                if name.endswith(OUTPUTS) and "block." in name:
                    value.data.mul_(0.3)

    def encode(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The encoded rows [batch, rows, width] and the mask of those that are there, [batch, rows]."""
        flat = self.kind(batch["kinds"]) + self.noise(batch["noise"])
        atoms = [batch[f"atoms.{i}"] for i in range(len(self.settings.relations))]
        place, back = batch["place"], batch["back"]
        there = torch.arange(place.shape[1], device=place.device) < batch["prompt_len"][:, None]
        hidden = torch.zeros(there.shape, dtype=flat.dtype, device=flat.device).masked_fill(~there, -torch.inf)
        mask = hidden[:, None, None, :]

        def layer(number: int, block: Block, flat: Tensor) -> Tensor:
            bias = mask + self.distance(number, batch["distances"]) if self.settings.distances else mask
            return block.encode(flat, atoms, batch["scale"], place, bias)

        for number, block in enumerate(self.encoder.block):
            assert isinstance(block, Block)
            flat = run_layer(self.recompute, layer, number, block, flat).flatten(0, 1)[back]
        return self.encoder.norm(flat)[place], there

    def decode(self, rows: Tensor, there: Tensor, plan: Tensor, due: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the operators and of the rows at each place of a plan, given what comes before it."""
        x = self.inputs(rows, plan, due)
        length = x.shape[1]
        future = torch.full((length, length), -torch.inf, device=x.device).triu(1)
        hidden = torch.zeros(there.shape, device=x.device).masked_fill(~there, -torch.inf)[:, None, None, :]
        mask = torch.cat([hidden.expand(-1, 1, length, -1), future.expand(len(x), 1, -1, -1)], 3)
        for block in self.decoder.block:
            assert isinstance(block, Block)
            x = run_layer(self.recompute, block.decode, x, rows, mask)
        x = self.decoder.norm(x)
        pointers = self.query(x) @ self.key(rows).mT / math.sqrt(x.shape[2])
        return self.choose(x), pointers + self.not_pointed_at(there)

    def inputs(self, rows: Tensor, plan: Tensor, due: Tensor) -> Tensor:
        """What the decoder reads to predict `plan`: the start, then the plan without its last token."""
        plan = F.pad(plan[:, :-1], (1, 0), value=self.operators + 1)
        due = F.pad(due[:, :-1], (1, 0))
        chosen = (plan - self.operators - 1).clamp(0, rows.shape[1] - 1)
        pointed = rows.gather(1, chosen[:, :, None].expand(-1, -1, rows.shape[2]))
        operator = self.operator(plan.clamp(max=self.operators + 1))
        x = torch.where(due[:, :, None] > 0, self.argument(pointed), operator)
        read: Tensor = x + self.slot(due) + self.position.weight[: plan.shape[1]]
        return read

    def not_pointed_at(self, there: Tensor) -> Tensor:
        """-inf for padding and for the global row, which is each example's last."""
        objects = there & F.pad(there[:, 1:], (0, 1), value=False)
        return torch.zeros(there.shape, device=there.device).masked_fill(~objects, -torch.inf)[:, None, :]

    def cost(self, rows: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale of the discretised logistic over costs."""
        shares = F.softplus(self.cost_out(F.gelu(self.cost_in(rows), approximate="tanh"))) * there[:, :, None]
        mean, square = shares[:, :, 0].sum(1), (shares[:, :, 1] ** 2).sum(1)
        return mean, torch.sqrt(square + 1e-12) + LEAST_SCALE
