"""The engine for GPUs: the training networks with the interface of `oclgen.inference.engine`.

Each prompt is computed once; its keys and values are then copied into the cache of every row that continues it,
where plan tokens are written in place. On a CPU the native engine is several times faster and needs no torch.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from oclgen.checkpoint import Checkpoint
from oclgen.encoding.vocabulary import ACTIONS
from oclgen.errors import InputError
from oclgen.inference.engine import BoolArray, FloatArray, IntArray
from oclgen.learn.networks.objectives import make_network
from oclgen.learn.networks.words import Block, PolicyNetwork

GROWTH = 16
"""Slots that a full cache grows by."""

Cache = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, [rows, heads, positions, width / heads]."""


def find_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"unknown device {name!r}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {name!r} was asked for, but torch finds no GPU here")
    return device


def state_dict(checkpoint: Checkpoint) -> dict[str, Tensor]:
    return {name: torch.tensor(array) for name, array in checkpoint.weights.items()}


def draw(probabilities: FloatArray, uniform: FloatArray, temperature: float) -> tuple[IntArray, FloatArray]:
    """One token per row, chosen by the row's number in [0, 1), and its probability."""
    if temperature == 0.0:
        tokens = probabilities.argmax(axis=1)
    else:
        relative = probabilities / probabilities.max(axis=1, keepdims=True)
        cumulative = (relative.astype(np.float64) ** (1.0 / temperature)).cumsum(axis=1)
        tokens = (cumulative > uniform[:, None] * cumulative[:, -1:]).argmax(axis=1)
    return tokens.astype(np.int32), probabilities[np.arange(len(tokens)), tokens]


def with_room(cache: Cache, positions: int) -> Cache:
    """A cache for so many positions: pieces of different lengths take more slots than tokens."""
    missing = positions - cache[0][0].shape[2]
    if missing <= 0:
        return cache
    room = (0, 0, 0, missing + GROWTH)
    return [(F.pad(keys, room), F.pad(values, room)) for keys, values in cache]


class TorchPolicyEngine:
    """A GPT-2 policy on any torch device."""

    def __init__(self, checkpoint: Checkpoint, device: str = "cuda") -> None:
        self.device = find_device(device)
        self.max_plan = checkpoint.settings.max_plan
        self.vocabulary = checkpoint.vocabulary.size
        self._network = PolicyNetwork(checkpoint.settings, checkpoint.vocabulary)
        self._network.load_state_dict(state_dict(checkpoint))
        self._network.eval().to(self.device)

    @torch.inference_mode()
    def open(self, prompts: Sequence[IntArray], rows: Sequence[int], capacity: int) -> "TorchSession":
        return TorchSession(self, prompts, rows, capacity)

    def run(self, x: Tensor, cache: Cache, slots: slice, mask: Tensor) -> Tensor:
        """Logits of the last of the new rows `x`, which take the positions `slots` of the cache."""
        for block, (keys, values) in zip(self._network.block, cache, strict=True):
            assert isinstance(block, Block)
            query, key, value = block.split(block.attention(block.norm1(x)), 3)
            keys[:, :, slots], values[:, :, slots] = key, value
            mixed = F.scaled_dot_product_attention(query, keys[:, :, : slots.stop], values[:, :, : slots.stop], mask)
            x = x + block.projection(mixed.transpose(1, 2).flatten(2))
            x = x + block.expanded(block.norm2(x), "tanh")
        return F.linear(self._network.norm(x[:, -1]), self._network.token.weight)

    def embed_plan(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """[rows, tokens] to [rows, tokens, width]."""
        embedded: Tensor = self._network.token(tokens) + self._network.position(positions)
        return embedded

    def embed_prefix(self, prompt: IntArray) -> tuple[Tensor, Tensor]:
        """A prompt and `<actions>`, [1, length + 1, width], and their attention mask."""
        ids = torch.tensor(prompt, dtype=torch.long, device=self.device)[None]
        opening = torch.tensor([[ACTIONS]], device=self.device)
        x = self._network.token(ids[:, :, 0]) + self._network.position.weight[: len(prompt)]
        length = len(prompt)
        mask = torch.ones(length + 1, length + 1, dtype=torch.bool, device=self.device).tril()
        return torch.cat([x, self.embed_plan(opening, torch.tensor([[length]], device=self.device))], dim=1), mask

    def empty_cache(self, rows: int, positions: int) -> Cache:
        settings = self._network.settings
        shape = (rows, settings.heads, positions, settings.width // settings.heads)
        return [
            (torch.zeros(shape, device=self.device), torch.zeros(shape, device=self.device))
            for _ in range(settings.layers)
        ]


class NextTokens:
    """The part of a session that every kind of model shares: from logits to probabilities and samples."""

    _logits: Tensor

    @torch.inference_mode()
    def probabilities(self, allowed: BoolArray | None = None) -> FloatArray:
        logits = self._logits
        if allowed is not None:
            logits = logits.masked_fill(~torch.tensor(allowed, device=logits.device), -torch.inf)
        return np.asarray(logits.softmax(-1).cpu().numpy(), np.float32)

    def sample(
        self, uniform: FloatArray, temperature: float, allowed: BoolArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        return draw(self.probabilities(allowed), uniform, temperature)


class TorchSession(NextTokens):
    """Plans that continue their prompts, which are padded to the longest."""

    def __init__(
        self, engine: TorchPolicyEngine, prompts: Sequence[IntArray], rows: Sequence[int], capacity: int
    ) -> None:
        self._engine = engine
        self.vocabulary = engine.vocabulary
        embedded = [engine.embed_prefix(prompt) for prompt in prompts]
        lengths = torch.tensor([x.shape[1] for x, _ in embedded], device=engine.device)
        self._longest = int(lengths.max())
        prefixes, logits = engine.empty_cache(len(prompts), self._longest + capacity), []
        for i, (x, mask) in enumerate(embedded):
            own = [(keys[i : i + 1], values[i : i + 1]) for keys, values in prefixes]
            logits.append(engine.run(x, own, slice(0, x.shape[1]), mask))
        owners = torch.repeat_interleave(torch.arange(len(prompts)), torch.tensor(rows)).to(engine.device)
        self._lengths = lengths[owners]
        self._fed = torch.zeros_like(self._lengths)
        self._visible = torch.arange(self._longest, device=engine.device) < self._lengths[:, None]
        self._cache = [(keys[owners], values[owners]) for keys, values in prefixes]
        self._logits = torch.cat(logits)[owners]

    @torch.inference_mode()
    def feed(self, tokens: IntArray, counts: IntArray | None = None) -> None:
        """Every row takes as many slots as the longest piece; shorter ones are aligned right, the rest is masked."""
        device = self._engine.device
        count = torch.ones_like(self._lengths) if counts is None else torch.tensor(counts, device=device).long()
        width = int(count.max())
        places = torch.arange(width, device=device)
        written = places >= width - count[:, None]
        ids = torch.zeros_like(written, dtype=torch.long)
        ids[written] = torch.tensor(tokens, dtype=torch.long, device=device)
        positions = (self._lengths + self._fed + count - width)[:, None] + places
        slots = slice(self._visible.shape[1], self._visible.shape[1] + width)
        self._visible = torch.cat([self._visible, written], dim=1)
        self._cache = with_room(self._cache, slots.stop)
        causal = torch.arange(slots.stop, device=device) <= (slots.start + places)[:, None]
        x = self._engine.embed_plan(ids, positions.clamp(min=0))
        self._logits = self._engine.run(x, self._cache, slots, (self._visible[:, None] & causal)[:, None])
        self._fed = self._fed + count

    @torch.inference_mode()
    def keep(self, rows: IntArray) -> None:
        index = torch.tensor(rows, dtype=torch.long, device=self._engine.device)
        self._lengths, self._fed = self._lengths[index], self._fed[index]
        self._visible, self._logits = self._visible[index], self._logits[index]
        self._cache = [(keys[index], values[index]) for keys, values in self._cache]


class TorchHeuristicEngine:
    """A heuristic on any torch device."""

    def __init__(self, checkpoint: Checkpoint, device: str = "cuda") -> None:
        self._device = find_device(device)
        self._network = make_network(checkpoint.settings, checkpoint.vocabulary, dropout=0.0)
        self._network.load_state_dict(state_dict(checkpoint))
        self._network.eval().to(self._device)

    @torch.inference_mode()
    def distributions(self, prompts: Sequence[IntArray]) -> FloatArray:
        padded = pad_sequence([torch.tensor(prompt, dtype=torch.long) for prompt in prompts], batch_first=True)
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=self._device)
        scores: Tensor = self._network(padded.to(self._device), lengths)
        return np.asarray(scores.softmax(-1).cpu().numpy(), np.float32)
