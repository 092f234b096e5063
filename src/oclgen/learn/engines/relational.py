"""Relational models on torch: the training network as a `StateEngine`.

The keys and values of a state's rows are computed once and copied into the cache of every plan from it. On a CPU the
engine without torch is several times faster.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from oclgen.inference.engine import FloatArray, IntArray
from oclgen.inference.relational.atoms import AtomBatch, Atoms
from oclgen.inference.relational.engine import ProblemArrays
from oclgen.learn.engines.words import Cache, NextTokens, find_device, with_room
from oclgen.learn.networks.relational import Block, RelationalNetwork
from oclgen.relational_checkpoint import RelationalCheckpoint

BATCH_ROWS = 4096
"""Rows that go through the encoder together."""
IMPOSSIBLE = -1e30


class TorchRows:
    """An encoded state, [rows, width]."""

    __slots__ = ("final",)

    def __init__(self, final: Tensor) -> None:
        self.final = final

    @property
    def nbytes(self) -> int:
        return self.final.nbytes


class TorchRelationalEngine:
    """Encoder, plans and costs of one relational model on any torch device."""

    def __init__(self, checkpoint: RelationalCheckpoint, device: str = "cuda") -> None:
        self.device = find_device(device)
        self.max_plan = checkpoint.settings.max_plan
        self.arities = checkpoint.schema.operator_arities
        self.relation_arities = [checkpoint.schema.relation_arity(name) for name, _ in checkpoint.settings.relations]
        self.network = RelationalNetwork(checkpoint.settings, checkpoint.schema)
        self.network.load_state_dict({name: torch.tensor(array) for name, array in checkpoint.weights.items()})
        self.network.eval().to(self.device)

    def encode_batch(self, problem: ProblemArrays, states: AtomBatch) -> list[TorchRows]:
        return self.encode(problem, [states.state(i, self.relation_arities) for i in range(len(states))])

    @torch.inference_mode()
    def encode(self, problem: ProblemArrays, states: Sequence[Atoms]) -> list[TorchRows]:
        """The rows of states of one problem."""
        portion = max(1, BATCH_ROWS // len(problem.kinds))
        found = []
        for first in range(0, len(states), portion):
            rows, _ = self.network.encode(self._batch(problem, states[first : first + portion]))
            found += [TorchRows(each.clone()) for each in rows]
        return found

    def _batch(self, problem: ProblemArrays, states: Sequence[Atoms]) -> dict[str, Tensor]:
        count, rows = len(states), len(problem.kinds)
        place = np.arange(count * rows).reshape(count, rows)
        batch = {"kinds": np.tile(problem.kinds, count), "place": place, "back": place.reshape(-1)}
        batch["prompt_len"] = np.full(count, rows)
        degree = np.zeros(count * rows)
        for i, parts in enumerate(zip(*states, strict=True)):
            atoms = np.concatenate([part + first * rows for first, part in enumerate(parts)])
            degree += np.bincount(atoms.reshape(-1), minlength=len(degree))
            batch[f"atoms.{i}"] = atoms
        if problem.distances is not None:
            batch["distances"] = np.tile(problem.distances, (count, 1, 1))
        tensors = {name: torch.tensor(array, dtype=torch.long, device=self.device) for name, array in batch.items()}
        tensors["noise"] = torch.tensor(problem.noise, device=self.device).repeat(count, 1)
        scale = 1.0 / np.sqrt(np.maximum(degree, 1.0))
        return tensors | {"scale": torch.tensor(scale, dtype=torch.float32, device=self.device)}

    @torch.inference_mode()
    def costs(self, rows: Sequence[TorchRows]) -> FloatArray:
        """[states, 2]: mean and scale of each state's cost-to-go."""
        padded = pad_sequence([each.final for each in rows], batch_first=True)
        lengths = torch.tensor([len(each.final) for each in rows], device=self.device)
        there = torch.arange(padded.shape[1], device=self.device) < lengths[:, None]
        return np.asarray(torch.stack(self.network.cost(padded, there), 1).cpu().numpy(), np.float32)

    @torch.inference_mode()
    def open(self, prompts: Sequence[TorchRows], rows: Sequence[int], capacity: int) -> "TorchRelationalSession":
        """`rows[i]` plans from the state `prompts[i]`; each will be fed `capacity` tokens at most."""
        return TorchRelationalSession(self, torch.stack([each.final for each in prompts]), rows, capacity)

    def behind(self, rows: Tensor, capacity: int) -> Cache:
        """Keys and values of encoded rows [states, rows, width], with room for START and plan tokens."""
        parts = [self._heads(block, rows)[1:] for block in self.network.decoder.block]
        room = (0, 0, 0, capacity + 1)
        return [(F.pad(keys, room), F.pad(values, room)) for keys, values in parts]

    def run(self, x: Tensor, cache: Cache, slots: slice, mask: Tensor) -> Tensor:
        """The decoder's output for the last of the new inputs `x`, which take the positions `slots` of the cache."""
        for block, (keys, values) in zip(self.network.decoder.block, cache, strict=True):
            assert isinstance(block, Block)
            query, keys[:, :, slots], values[:, :, slots] = self._heads(block, block.norm1(x))
            mixed = F.scaled_dot_product_attention(query, keys[:, :, : slots.stop], values[:, :, : slots.stop], mask)
            x = x + block.projection(mixed.transpose(1, 2).flatten(2))
            x = x + block.feed_forward(x)
        last: Tensor = self.network.decoder.norm(x[:, -1])
        return last

    def _heads(self, block: torch.nn.Module, x: Tensor) -> Sequence[Tensor]:
        """Queries, keys and values, each [batch, heads, rows, width of a head]."""
        assert isinstance(block, Block)
        parts: Tensor = block.attention(x).view(*x.shape[:2], 3, block.heads, -1)
        return parts.permute(2, 0, 3, 1, 4).unbind(0)


class TorchRelationalSession(NextTokens):
    """Plans that continue from encoded states, all of one problem."""

    def __init__(self, engine: TorchRelationalEngine, states: Tensor, rows: Sequence[int], capacity: int) -> None:
        self._engine = engine
        network, device = engine.network, engine.device
        self._operators = network.operators
        self.vocabulary = network.operators + states.shape[1]
        self._states, self._pointer_keys = states, network.key(states[:, :-1]) / math.sqrt(states.shape[2])
        self._arguments = network.argument(states)
        cache = engine.behind(states, capacity)
        start = network.operator.weight[-1] + network.slot.weight[0] + network.position.weight[0]
        slots = slice(states.shape[1], states.shape[1] + 1)
        mask = torch.ones(1, slots.stop, dtype=torch.bool, device=device)
        last = engine.run(start.expand(len(states), 1, -1), cache, slots, mask)
        self._owners = torch.repeat_interleave(torch.arange(len(states)), torch.tensor(rows)).to(device)
        self._cache = [(keys[self._owners], values[self._owners]) for keys, values in cache]
        self._visible = mask.repeat(len(self._owners), 1)
        self._fed = torch.ones(len(self._owners), dtype=torch.long, device=device)
        self._due = np.zeros((len(self._owners), 2), np.int64)  # the place last fed, and arguments still to come
        self._score(last[self._owners])

    def _score(self, last: Tensor) -> None:
        network = self._engine.network
        scores = torch.full((len(last), self.vocabulary), IMPOSSIBLE, device=last.device)
        pointers = (self._pointer_keys[self._owners] @ network.query(last)[:, :, None])[:, :, 0]
        both = torch.cat([network.choose(last), pointers], 1)
        argument = torch.tensor(self._due[:, 1:] > 0, device=last.device)
        is_row = torch.arange(self.vocabulary, device=last.device) > self._operators
        self._logits = torch.where(argument == is_row, both, scores)

    @torch.inference_mode()
    def feed(self, tokens: IntArray, counts: IntArray | None = None) -> None:
        """Every plan takes as many slots as the longest piece; shorter ones are aligned right, the rest is masked."""
        device = self._engine.device
        sizes = np.ones(len(self._due), np.int64) if counts is None else np.asarray(counts, np.int64)
        width = int(sizes.max())
        written = np.arange(width) >= width - sizes[:, None]
        ids, places = np.zeros((2, *written.shape), np.int64)
        ids[written], places[written] = tokens, self._places(tokens, sizes)
        count = torch.tensor(sizes, device=device)
        positions = (self._fed - width + count)[:, None] + torch.arange(width, device=device)
        if int(positions.max()) >= self._engine.max_plan:
            raise ValueError("more tokens were fed than the model has positions for")
        slots = slice(self._visible.shape[1], self._visible.shape[1] + width)
        self._visible = torch.cat([self._visible, torch.tensor(written, device=device)], 1)
        self._cache = with_room(self._cache, slots.stop)
        everywhere = torch.arange(slots.stop, device=device)
        causal = everywhere <= everywhere[slots, None]
        x = self._inputs(torch.tensor(ids, device=device), torch.tensor(places, device=device), positions.clamp(min=0))
        last = self._engine.run(x, self._cache, slots, (self._visible[:, None] & causal)[:, None])
        self._fed = self._fed + count
        self._score(last)

    def _places(self, tokens: IntArray, sizes: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[int]:
        """0 for each operator, i for an i-th argument; remembers the arguments that each plan still lacks."""
        owner = np.repeat(np.arange(len(sizes)), sizes).tolist()
        found = []
        for row, token in zip(owner, np.asarray(tokens).tolist(), strict=True):
            place, missing = self._due[row]
            if not (self._operators < token < self.vocabulary if missing else 0 <= token < self._operators):
                raise ValueError("a token was fed where it cannot stand")
            self._due[row] = (place + 1, missing - 1) if missing else (0, self._engine.arities[token])
            found.append(int(self._due[row, 0]))
        return found

    def _inputs(self, ids: Tensor, places: Tensor, positions: Tensor) -> Tensor:
        network = self._engine.network
        chosen = (ids - self._operators - 1).clamp(min=0)
        pointed = self._arguments[self._owners[:, None], chosen]
        operator = network.operator(ids.clamp(max=self._operators))
        x = torch.where(places[:, :, None] > 0, pointed, operator)
        read: Tensor = x + network.slot(places) + network.position(positions)
        return read

    @torch.inference_mode()
    def keep(self, rows: IntArray) -> None:
        index = torch.tensor(rows, dtype=torch.long, device=self._engine.device)
        self._owners, self._fed = self._owners[index], self._fed[index]
        self._visible, self._logits = self._visible[index], self._logits[index]
        self._cache = [(keys[index], values[index]) for keys, values in self._cache]
        self._due = self._due[rows]
