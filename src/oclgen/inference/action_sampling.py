"""The loop of free decoding on an engine that samples whole actions: sample one per row, apply it, drop ended rows.

Rows are independent, so each thread of the engine has its own rows from the first token to the last, and the tokens
of a row do not depend on the number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import numpy as np

from oclgen.inference.engine import FloatArray, IntArray, Session
from oclgen.inference.kernel.workers import Workers
from oclgen.inference.rollout import RolloutBuilder
from oclgen.inference.sampling import NUMBERS_AHEAD, SampleGroup

LEAST_ROWS = 16
"""Rows that are worth a further thread: ten samples of one state are faster together."""


class ActionSession(Session, Protocol):
    """A session that samples whole actions, too."""

    def sample_actions(
        self, live: IntArray, last: IntArray | None, numbers: FloatArray, temperature: float, limit: int
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """See `RelationalSession`."""
        ...


@runtime_checkable
class ActionEngine(Protocol):
    """An engine whose sessions sample whole actions, spread over its threads."""

    workers: Workers
    longest_action: int

    def prepare(self, prompts: Sequence[Any]) -> None:
        """Compute what plans from these states share."""
        ...

    def open(self, prompts: Sequence[Any], rows: Sequence[int], capacity: int) -> ActionSession: ...


@dataclass(slots=True)
class ActionSampler:
    """Samples rollouts until all have ended or have `limit` tokens, or until it is told to stop."""

    engine: ActionEngine
    generator: np.random.Generator
    temperature: float
    limit: int
    should_stop: Callable[[], bool]
    tokens: int = 0

    def run(self, batch: Sequence[SampleGroup]) -> None:
        if self.limit < 1 or self.should_stop():
            return
        rows = [(group.prompt, rollout) for group in batch for rollout in group.rollouts]
        self.engine.prepare([group.prompt for group in batch])
        numbers = TokenNumbers(self.generator, len(rows))
        parts = self.engine.workers.split(len(rows), LEAST_ROWS)
        self.tokens += sum(self.engine.workers.map(lambda part: self._run(rows[part], part, numbers), parts))

    def _run(self, rows: Sequence[tuple[Any, RolloutBuilder]], part: slice, numbers: "TokenNumbers") -> int:
        """Sample these rows to their end; the number of their tokens."""
        session = self.engine.open([prompt for prompt, _ in rows], [1] * len(rows), self.limit - 1)
        rollouts = [rollout for _, rollout in rows]
        live, last = np.arange(len(rows), dtype=np.int32), np.zeros(len(rows), np.int32)
        drawn = tokens = 0
        while len(live) and not self.should_stop():
            drawn += self.engine.longest_action
            fed = last if tokens else None
            sampled = session.sample_actions(live, fed, numbers.first(drawn)[:, part], self.temperature, self.limit)
            going = []
            for row, action, length, confidence in zip(
                live.tolist(), *(each.tolist() for each in sampled), strict=True
            ):
                tokens += abs(length)
                rollout = rollouts[row]
                if length <= 0:
                    rollout.stop(action[:-length])
                elif rollout.act(action[:length], confidence) and rollout.length < self.limit:
                    going.append(row)
                    last[row] = action[length - 1]
            live = np.array(going, np.int32)
        return tokens


class TokenNumbers:
    """Uniform random numbers, [tokens, rows], drawn a few tokens ahead."""

    def __init__(self, generator: np.random.Generator, rows: int) -> None:
        self._generator = generator
        self._lock = Lock()
        self._drawn = np.empty((0, rows), np.float32)

    def first(self, tokens: int) -> FloatArray:
        """The numbers of at least so many tokens."""
        with self._lock:
            while len(self._drawn) < tokens:
                more = self._generator.random((NUMBERS_AHEAD, self._drawn.shape[1]), np.float32)
                self._drawn = np.concatenate([self._drawn, more])
            return self._drawn
