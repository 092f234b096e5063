"""Which examples make a batch, for all kinds of examples: epochs, limits, and the shares of processes.

Each epoch draws a new offset for every plan (action compilation), orders examples by length, cuts them into batches
that fit a limit, and shuffles the batches. Every batch is a pure function of the settings and its `Position`, so
resuming is exact, and with several processes each takes every `world`-th example of the same batch: the number of
processes changes nothing but the speed.

An epoch holds at most `SEGMENT` plans, so that memory does not grow with the data. A larger data set is split anew for
every pass, in blocks of neighbours: a pass is then several epochs in which each plan comes once, and an epoch reads few
places of the disk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from oclgen.errors import InputError

SEGMENT = 1 << 16
"""Plans in an epoch at most."""
BLOCK = 256
"""Neighbours in the store that stay together."""

Longs = NDArray[np.int64]
Batch = dict[str, NDArray[Any]]
"""Arrays by name, one entry per example or example after example. All have `prompt_len`, which counts rows or words;
those to write plans from have `plan` (tokens to predict), zero-padded, and `plan_len`; others have `cost`."""


class Steps(Protocol):
    """Where the steps of a store's plans and their tokens begin."""

    @property
    def step_begin(self) -> Longs: ...
    @property
    def step_token(self) -> NDArray[np.int32]: ...


class Position(NamedTuple):
    """A place in the endless stream of batches; a run's state holds it to resume."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True, kw_only=True)
class BatchSettings:
    """What batches of every encoding depend on."""

    tokens: int | None = None
    """Prompt and plan tokens in a batch, padding included, over all processes. A longer example comes alone."""
    examples: int | None = None
    """Or the number of examples in a batch, over all processes."""
    window: int | None = None
    """Actions to predict after the offset; the end only where the plan ends inside. None: all."""
    compile: bool = True
    """Random offsets; without, every example starts at the initial state."""
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.tokens is None) == (self.examples is None):
            raise InputError("a batch is limited by tokens or by examples")
        for name in ("tokens", "examples", "window"):
            check_positive(name, getattr(self, name))


def check_positive(name: str, limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise InputError(f"{name} of a batch must be positive")


@dataclass(frozen=True)
class Epoch:
    """Some plans of the store (ascending), the offset and lengths of each, and batches of plans."""

    plans: Longs
    offset: Longs
    prompt_len: Longs
    plan_len: Longs
    batches: list[Longs]

    def places(self, instances: Longs) -> Longs:
        """Where plans of the store stand in the arrays of this epoch."""
        return np.searchsorted(self.plans, instances)


class BatchStream(ABC):
    """An endless stream of batches, epoch by epoch, each batch a function of its position."""

    epoch: Callable[[int], Epoch]

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of plans."""

    @abstractmethod
    def batch(self, position: Position, rank: int = 0, world: int = 1) -> Batch:
        """The share of process `rank` of `world` in the batch at a position; empty where there are too few examples."""

    def batches_per_pass(self) -> int:
        """In how many batches all plans come once (in the first pass; later ones differ by a few)."""
        return sum(len(self.epoch(number).batches) for number in range(segments(self.size)))

    def stream(self, position: Position, rank: int = 0, world: int = 1) -> Iterator[tuple[Position, Batch]]:
        """Batches from `position` on, without end, each with the position that follows it."""
        epoch, first = position
        while True:
            for number in range(first, len(self.epoch(epoch).batches)):
                yield Position(epoch, number + 1), self.batch(Position(epoch, number), rank, world)
            epoch, first = epoch + 1, 0

    def validation(self, rank: int = 0, world: int = 1) -> Iterator[Batch]:
        """Every plan once, from the same offset and under the same names each time."""
        for epoch in range(segments(self.size)):
            for number in range(len(self.epoch(epoch).batches)):
                yield self.batch(Position(epoch, number), rank, world)


def segments(size: int) -> int:
    """Epochs in a pass over so many plans."""
    return max(1, -(-size // SEGMENT))


def plans_of(epoch: int, size: int, seed: int) -> Longs:
    """The plans of an epoch, ascending: all, or the blocks that belong to it in this pass."""
    count = segments(size)
    if count == 1:
        return np.arange(size)
    turn, place = divmod(epoch, count)
    blocks = np.random.default_rng([seed, turn, 0, 0]).permutation(-(-size // BLOCK))
    first = np.sort(blocks[place::count])[:, None] * BLOCK
    plans: Longs = (first + np.arange(BLOCK)).reshape(-1)
    return plans[plans < size]


def plan_lengths(store: Steps, plans: Longs, offset: Longs, window: int | None) -> Longs:
    """Tokens to predict from each plan's offset on, `<end>` included where it is inside the window."""
    first_step = store.step_begin[plans]
    length = store.step_begin[plans + 1] - first_step - 1
    last = length if window is None else np.minimum(offset + window, length)
    ends = (last == length).astype(np.int64)
    tokens: Longs = store.step_token[first_step + last] - store.step_token[first_step + offset] + ends
    return tokens


def cut(prompt_len: Longs, plan_len: Longs, settings: BatchSettings, rng: np.random.Generator) -> list[Longs]:
    """Batches of examples of similar lengths, each within the limit when padded (or a single example).

    Prompt and plan are padded separately, so both lengths should be similar: examples are split by prompt length into
    strips and ordered by plan length inside a strip, ascending and descending in turns, so that neighbours are similar.
    """
    shuffled = rng.permutation(len(prompt_len))
    prompt_len, plan_len = prompt_len[shuffled], plan_len[shuffled]
    tokens = settings.tokens or np.inf
    examples = settings.examples or len(prompt_len)
    count = max(len(prompt_len) / examples, float(np.sum(prompt_len + plan_len)) / tokens)
    strips = max(1, round(count**0.5))
    by_prompt = np.argsort(prompt_len, kind="stable")
    strip = np.empty_like(by_prompt)
    strip[by_prompt] = np.arange(len(by_prompt)) * strips // max(1, len(by_prompt))
    order = np.lexsort((prompt_len, np.where(strip % 2 == 0, plan_len, -plan_len), strip))
    bounds = _bounds(prompt_len[order].tolist(), plan_len[order].tolist(), tokens, examples)
    return np.split(shuffled[order], bounds[1:-1])


def _bounds(prompt_len: list[int], plan_len: list[int], tokens: float, examples: int) -> list[int]:
    """Where each batch begins, and the end. The last two are of equal size, so that none is a small remainder."""
    bounds = [0]
    longest_prompt = longest_plan = 0
    for i, (prompt, plan) in enumerate(zip(prompt_len, plan_len, strict=True)):
        longest_prompt, longest_plan = max(longest_prompt, prompt), max(longest_plan, plan)
        size = i + 1 - bounds[-1]
        if size > examples or (size * (longest_prompt + longest_plan) > tokens and size > 1):
            bounds.append(i)
            longest_prompt, longest_plan = prompt, plan
    end = len(prompt_len)
    middle = (bounds[-2] + end) // 2 if len(bounds) > 1 else end
    if middle < bounds[-1] and (end - middle) * (max(prompt_len[middle:]) + max(plan_len[middle:])) <= tokens:
        bounds[-1] = middle
    return [*bounds, end]


def ranges(begin: Longs, end: Longs) -> tuple[Longs, Longs]:
    """The numbers of all ranges begin[i]:end[i], one after the other, and for each number its i."""
    sizes = end - begin
    owner = np.repeat(np.arange(len(begin)), sizes)
    first = np.cumsum(sizes) - sizes
    return np.arange(len(owner)) + (begin - first)[owner], owner


def padded(items: Longs, owner: Longs, examples: int) -> tuple[Longs, Longs]:
    """Items [all, columns], grouped by owner -> [examples, longest, columns] with zeros at the end, and lengths."""
    lengths = np.bincount(owner, minlength=examples)
    first = np.cumsum(lengths) - lengths
    array = np.zeros((examples, int(lengths.max(initial=0)), items.shape[1]), np.int64)
    array[owner, np.arange(len(owner)) - first[owner]] = items
    return array, lengths
