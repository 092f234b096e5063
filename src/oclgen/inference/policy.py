"""A trained policy for the searches: batches of rollouts, and priors over actions.

Each state's prompt is computed once and shared by its samples; finished samples leave the batch. Decoding is
`free` (the paper: any token may come, the first mistake ends a rollout) or restricted to `applicable` actions:
only tokens that continue one of them are allowed (so never the end token), and probabilities are renormalised.
`viable` also undoes tokens that lead into a trap (`rollout`). Confidence is always the probability at temperature 1 of
the distribution that was sampled from, restricted or not.

A model may have learned windows of plans. Its rollouts end with their window, or, with `whole`, go on from their last
state, encoded afresh, until their own limit.

Paper: Section 3 (autoregressive policies), Section 4.3 (rollouts, confidence).
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from threading import Lock
from typing import Any, Protocol

import numpy as np

from oclgen.errors import InputError
from oclgen.inference.action_sampling import ActionEngine, ActionSampler
from oclgen.inference.engine import PolicyEngine
from oclgen.inference.kernel.workers import Workers
from oclgen.inference.priors import action_priors
from oclgen.inference.rollout import Grammar, RolloutBuilder
from oclgen.inference.sampling import SampleGroup, Sampler
from oclgen.interfaces import Action, Rollout, State, Task

DECODINGS = ("free", "applicable", "viable")
WHOLE_PLAN = 7000
"""Tokens of a whole rollout without a limit of its own: half of the paper's longest sequence."""
MAX_ROWS = 64
"""Rows of one batch. The caches of more rows do not fit into the processor's cache."""


class Reader(Protocol):
    """How a kind of model reads states and writes actions."""

    def prompts(self, task: Task, states: Sequence[State]) -> list[Any]:
        """What the engine reads of each state; None where a state does not fit the model."""
        ...

    def tokens(self, task: Task, action: Action) -> list[int]: ...

    def grammar(self, task: Task) -> Grammar: ...


class ModelPolicy:
    """A `Policy` of any kind of model: its reader and its engine."""

    def __init__(
        self,
        reader: Reader,
        engine: PolicyEngine,
        *,
        decoding: str = "free",
        temperature: float = 1.0,
        whole: bool = False,
    ) -> None:
        if decoding not in DECODINGS:
            raise InputError(f"decoding is {decoding!r}, must be one of {', '.join(DECODINGS)}")
        if not temperature >= 0.0:
            raise InputError(f"temperature is {temperature}, must be 0 or more")
        self.tokens = 0
        self._reader, self._engine = reader, engine
        self._restricted = decoding != "free"
        self._backtracks = decoding == "viable"
        self._temperature = temperature
        self._whole = whole
        self._last: Grammar | None = None
        self._lock = Lock()

    @property
    def workers(self) -> Workers | None:
        """The engine's threads, where rollouts do not depend on one another: they may be asked for at the same time."""
        if self._backtracks or not isinstance(self._engine, ActionEngine):
            return None
        return self._engine.workers if self._engine.workers.threads > 1 else None

    def rollouts(
        self,
        task: Task,
        states: Sequence[State],
        samples: int,
        rng: random.Random,
        *,
        max_tokens: int | None = None,
        max_actions: int | None = None,
        restricted: bool = False,
        should_stop: Callable[[], bool] | None = None,
    ) -> list[list[Rollout]]:
        """For each state, `samples` rollouts; `oclgen.interfaces.Policy` says when they end."""
        grammar = self._grammar(task)
        generator = np.random.default_rng(rng.getrandbits(64))
        restricted = restricted or self._restricted
        stop = should_stop or (lambda: False)
        groups = []
        for state in states:
            start = grammar.visit(state)
            groups.append([RolloutBuilder(grammar, start, restricted, max_actions) for _ in range(samples)])
        growing = groups
        for limit in self._windows(max_tokens):
            self._sample_window(task, growing, self._sampler(generator, limit, restricted, stop))
            growing = [[rollout] for rollout in chain.from_iterable(growing) if rollout.fills_window]
            if not growing or stop():
                break
            for rollout in chain.from_iterable(growing):
                rollout.next_window()
        return [[rollout.rollout for rollout in group] for group in groups]

    def _windows(self, max_tokens: int | None) -> Iterator[int]:
        """The lengths in tokens of the windows of a rollout: one, unless rollouts are whole."""
        longest = self._engine.max_plan
        if not self._whole:
            yield longest if max_tokens is None else min(max_tokens, longest)
            return
        left = max(WHOLE_PLAN, longest) if max_tokens is None else max_tokens
        while left > 0:
            yield min(left, longest)
            left -= longest

    def _sample_window(
        self, task: Task, groups: Iterable[list[RolloutBuilder]], sampler: Sampler | ActionSampler
    ) -> None:
        """Sample a window of each rollout."""
        for batch in batches(self._groups(task, groups)):
            sampler.run(batch)
        with self._lock:
            self.tokens += sampler.tokens

    def _sampler(
        self, generator: np.random.Generator, limit: int, restricted: bool, should_stop: Callable[[], bool]
    ) -> Sampler | ActionSampler:
        if not restricted and isinstance(self._engine, ActionEngine):
            return ActionSampler(self._engine, generator, self._temperature, limit, should_stop)
        return Sampler(self._engine, generator, self._temperature, limit, self._backtracks, should_stop)

    def priors(self, task: Task, state: State, actions: Sequence[Action]) -> list[float]:
        """Geometric means of the model's (unrestricted) token probabilities, normalised over `actions`."""
        tokens = [self._reader.tokens(task, action) for action in actions]
        prompt = self._reader.prompts(task, [state])[0] if len(actions) > 1 else None
        if prompt is None:
            return [1.0 / len(actions)] * len(actions)
        priors, rows = action_priors(self._engine, prompt, tokens)
        self.tokens += rows
        return priors

    def _grammar(self, task: Task) -> Grammar:
        """The grammar of the last task is kept, with the states its rollouts visited."""
        if self._last is None or self._last.task is not task:
            self._last = self._reader.grammar(task)
        return self._last

    def _groups(self, task: Task, builders: Iterable[list[RolloutBuilder]]) -> Iterator[SampleGroup]:
        """The rollouts of each state with its prompt; none of states that are goals, dead ends, or have no prompt."""
        groups = [group for group in builders if group and not group[0].ended]
        prompts = self._reader.prompts(task, [group[0].state for group in groups])
        for group, prompt in zip(groups, prompts, strict=True):
            if prompt is not None:
                for first in range(0, len(group), MAX_ROWS):
                    yield SampleGroup(prompt, group[first : first + MAX_ROWS])


def batches(groups: Iterable[SampleGroup]) -> Iterator[list[SampleGroup]]:
    """Groups in batches of at most MAX_ROWS rollouts."""
    batch: list[SampleGroup] = []
    rows = 0
    for group in groups:
        if batch and rows + len(group.rollouts) > MAX_ROWS:
            yield batch
            batch, rows = [], 0
        batch.append(group)
        rows += len(group.rollouts)
    if batch:
        yield batch
