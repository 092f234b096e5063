"""The token loop: sample one token per row, read it, drop the rows that ended, feed the others to the network.

Where decoding is restricted and a token can only be followed by one other, that one needs no sampling: it is read at
once, and all new tokens of a row are fed together. Of an action with many arguments few tokens are choices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from oclgen.inference.engine import BoolArray, FloatArray, IntArray, PolicyEngine, Session
from oclgen.inference.rollout import RolloutBuilder, offered

NUMBERS_AHEAD = 64


@dataclass(frozen=True, slots=True)
class SampleGroup:
    """Rollouts that are sampled from one prompt."""

    prompt: Any
    rollouts: Sequence[RolloutBuilder]


@dataclass(slots=True)
class Sampler:
    """Samples rollouts side by side until all have ended or have `limit` tokens, or until it is told to stop."""

    engine: PolicyEngine
    generator: np.random.Generator
    temperature: float
    limit: int
    backtracks: bool  # undo tokens that lead into a trap
    should_stop: Callable[[], bool]
    tokens: int = 0

    def run(self, batch: Sequence[SampleGroup]) -> None:
        if self.limit < 1 or self.should_stop():
            return
        # the last token that is sampled is never fed
        session = self.engine.open(
            [group.prompt for group in batch], [len(group.rollouts) for group in batch], self.limit - 1
        )
        live = [rollout for group in batch for rollout in group.rollouts]
        numbers = Numbers(self.generator, len(live))
        while not self.should_stop():
            new_tokens = self._sample(session, live, numbers)
            going_on = [row for row, new in enumerate(new_tokens) if new and not live[row].stuck]
            if not going_on:
                return
            if len(going_on) < len(live):
                rows = np.array(going_on, np.int32)
                session.keep(rows)
                numbers.keep(rows)
                live = [live[row] for row in going_on]
            fed = [new_tokens[row] for row in going_on]
            session.feed(np.array(list(chain(*fed)), np.int32), np.array(list(map(len, fed)), np.int32))

    def _sample(self, session: Session, live: Sequence[RolloutBuilder], numbers: "Numbers") -> list[list[int]]:
        """The new tokens of each row; with backtracking, a row that gets stuck is sampled again while something else is
        offered."""
        new_tokens: list[list[int]] = [[]] * len(live)
        rows = list(range(len(live)))
        while rows:
            allowed = self._allowed(session.vocabulary, live, rows)
            tokens, chosen = session.sample(numbers.next(), self.temperature, allowed)
            for row in rows:
                new_tokens[row] = self._read(live[row], int(tokens[row]), float(chosen[row]))
            stuck = [row for row in rows if self.backtracks and live[row].stuck]
            for row in stuck:
                live[row].backtrack()
            rows = [row for row in stuck if not live[row].stuck]
        return new_tokens

    def _read(self, rollout: RolloutBuilder, token: int, probability: float) -> list[int]:
        """The sampled token and those that must follow; none where the rollout ends or has `limit` tokens."""
        new = [token]
        going_on = rollout.extend(token, probability)
        while going_on and rollout.length < self.limit and (forced := rollout.forced) is not None:
            new.append(forced)
            going_on = rollout.force(forced)
        self.tokens += len(new)
        return new if going_on and rollout.length < self.limit else []

    def _allowed(self, vocabulary: int, live: Sequence[RolloutBuilder], rows: Sequence[int]) -> BoolArray | None:
        """What may follow in `rows`; in the other rows, whose tokens nobody reads, anything."""
        if live[0].choices is None:
            return None
        allowed = np.ones((len(live), vocabulary), np.bool_)
        for row in rows:
            allowed[row] = False
            allowed[row, offered(live[row].choices or {})] = True
        return allowed


class Numbers:
    """Uniform random numbers for each row, drawn ahead, so that a row's do not depend on when others end."""

    def __init__(self, generator: np.random.Generator, rows: int) -> None:
        self._generator = generator
        self._count = rows
        self._rows = np.arange(rows)
        self._used = NUMBERS_AHEAD
        self._drawn = np.empty((0, rows), np.float32)

    def next(self) -> FloatArray:
        if self._used == NUMBERS_AHEAD:
            self._drawn = self._generator.random((NUMBERS_AHEAD, self._count), np.float32)
            self._used = 0
        self._used += 1
        return np.take(self._drawn[self._used - 1], self._rows)

    def keep(self, rows: IntArray) -> None:
        self._rows = self._rows[rows]
