"""The token loop: sample one token per live row, read it, drop the rows that ended, feed the rest.

Where decoding is restricted and a token can only be followed by one other, that one needs no sampling: it is read at
once, and what a row got is fed in one piece. Few of the tokens of an action with many arguments are choices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from oclgen.inference.engine import BoolArray, FloatArray, IntArray, PolicyEngine, Session
from oclgen.inference.rollout import Draft, offered

NUMBERS_AHEAD = 64


@dataclass(frozen=True, slots=True)
class Behind:
    """Drafts that continue one prompt."""

    prompt: Any
    drafts: Sequence[Draft]


@dataclass(slots=True)
class Sampler:
    """Samples drafts side by side until all have ended, `limit` tokens are used up, or it is told to stop."""

    engine: PolicyEngine
    generator: np.random.Generator
    temperature: float
    limit: int
    returning: bool
    should_stop: Callable[[], bool]
    tokens: int = 0

    def run(self, batch: Sequence[Behind]) -> None:
        if self.limit < 1 or self.should_stop():
            return
        # the last token that is sampled is never fed
        session = self.engine.open(
            [group.prompt for group in batch], [len(group.drafts) for group in batch], self.limit - 1
        )
        live = [draft for group in batch for draft in group.drafts]
        numbers = Numbers(self.generator, len(live))
        while not self.should_stop():
            read = self._sample(session, live, numbers)
            going_on = [row for row, got in enumerate(read) if got and not live[row].stuck]
            if not going_on:
                return
            if len(going_on) < len(live):
                rows = np.array(going_on, np.int32)
                session.keep(rows)
                numbers.keep(rows)
                live = [live[row] for row in going_on]
            fed = [read[row] for row in going_on]
            session.feed(np.array(list(chain(*fed)), np.int32), np.array(list(map(len, fed)), np.int32))

    def _sample(self, session: Session, live: Sequence[Draft], numbers: "Numbers") -> list[list[int]]:
        """What each row got; when returning, a row that got stuck is sampled again while there is something else."""
        read: list[list[int]] = [[]] * len(live)
        rows = list(range(len(live)))
        while rows:
            allowed = self._allowed(session.vocabulary, live, rows)
            tokens, chosen = session.sample(numbers.next(), self.temperature, allowed)
            for row in rows:
                read[row] = self._read(live[row], int(tokens[row]), float(chosen[row]))
            stuck = [row for row in rows if self.returning and live[row].stuck]
            for row in stuck:
                live[row].take_back()
            rows = [row for row in stuck if not live[row].stuck]
        return read

    def _read(self, draft: Draft, token: int, probability: float) -> list[int]:
        """The tokens that a draft got: the sampled one and those that must follow; none where it ended or is full."""
        got = [token]
        going_on = draft.extend(token, probability)
        while going_on and draft.length < self.limit and (forced := draft.forced) is not None:
            got.append(forced)
            going_on = draft.force(forced)
        self.tokens += len(got)
        return got if going_on and draft.length < self.limit else []

    def _allowed(self, vocabulary: int, live: Sequence[Draft], rows: Sequence[int]) -> BoolArray | None:
        """What may follow in `rows`; of the others nothing is wanted, so anything."""
        if live[0].choices is None:
            return None
        allowed = np.ones((len(live), vocabulary), np.bool_)
        for row in rows:
            allowed[row] = False
            allowed[row, offered(live[row].choices or {})] = True
        return allowed


class Numbers:
    """Uniform numbers for each row, drawn ahead: what a row gets does not depend on when others end."""

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
