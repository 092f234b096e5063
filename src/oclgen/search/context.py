"""What every step of a search needs: the task, its two models, the budget, the random generator and the counters.

Searches ask the models only through `SearchContext`. It replays on the task what the policy proposes, asks the
heuristic in small counted batches, and checks the budget before each model call.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from oclgen.interfaces import Action, Heuristic, Plan, Policy, Rollout, State, Step, Task
from oclgen.search.anytime import Budget, Counters
from oclgen.search.extensions.decoding import DecodingTurns

Item = TypeVar("Item")
Result = TypeVar("Result")

EVALUATION_BATCH = 32
"""States per heuristic call: enough to use the model well, few enough to stop on time between two calls."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """States and the steps between them: `steps[i]` leads from `states[i]` to `states[i + 1]`."""

    states: tuple[State, ...]
    steps: tuple[Step, ...]
    reaches_goal: bool

    @property
    def actions(self) -> Plan:
        return tuple(step.action for step in self.steps)

    def then(self, other: "Trajectory") -> "Trajectory":
        """This trajectory continued by one that starts at its last state."""
        return Trajectory(self.states[:-1] + other.states, self.steps + other.steps, other.reaches_goal)

    def cut(self, steps: int) -> "Trajectory":
        """The first `steps` steps, or the whole trajectory if it has no more than that."""
        if steps >= len(self.steps):
            return self
        return Trajectory(self.states[: steps + 1], self.steps[:steps], reaches_goal=False)


def replay(task: Task, state: State, rollout: Rollout) -> Trajectory:
    """The valid part of a rollout: it ends before the first inapplicable action and at the first goal."""
    states = [state]
    reaches_goal = task.is_goal(state)
    for step in rollout:
        if reaches_goal:
            break
        successor = task.apply(states[-1], step.action)
        if successor is None:
            break
        states.append(successor)
        reaches_goal = task.is_goal(successor)
    return Trajectory(tuple(states), rollout[: len(states) - 1], reaches_goal)


def successors(task: Task, state: State) -> list[tuple[Action, State]]:
    """Each applicable action with the state it leads to."""
    return [(action, task.apply(state, action)) for action in task.applicable(state)]


class Workers(Protocol):
    """Threads that do work on independent items at the same time."""

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results in the order of the items."""
        ...


@dataclass(frozen=True, slots=True)
class SearchContext:
    """A task and its models for one search. A model that the search does not use may be None."""

    task: Task
    policy: Policy | None
    heuristic: Heuristic | None
    budget: Budget
    rng: random.Random
    counters: Counters
    workers: Workers | None = None
    """None: everything in turn."""
    decoding: DecodingTurns = field(default_factory=DecodingTurns)

    def for_each(self, items: Sequence[Item], work: "Callable[[SearchContext, Item], Result]") -> list[Result]:
        """The result of each item, which gets random numbers of its own: results do not depend on the workers."""
        if len(items) == 1:
            return [work(self, items[0])]
        rngs = [random.Random(self.rng.getrandbits(64)) for _ in items]
        contexts = [replace(self, rng=rng, counters=Counters()) for rng in rngs]
        pairs = list(zip(contexts, items, strict=True))
        if self.workers is None:
            results = [work(*pair) for pair in pairs]
        else:
            results = self.workers.map(lambda pair: work(*pair), pairs)
        for context in contexts:
            self.counters.rollouts += context.counters.rollouts
            self.counters.evaluated += context.counters.evaluated
        return results

    def sample(
        self,
        states: Sequence[State],
        samples: int,
        max_tokens: int | None = None,
        max_actions: int | None = None,
    ) -> list[list[Trajectory]]:
        """For each state, `samples` rollouts, replayed."""
        assert self.policy is not None
        batches = self.policy.rollouts(
            self.task,
            states,
            samples,
            self.rng,
            max_tokens=max_tokens,
            max_actions=max_actions,
            restricted=self.decoding.restricted,
            should_stop=self.budget.exhausted,
        )
        self.counters.rollouts += sum(map(len, batches))
        return [
            [replay(self.task, state, rollout) for rollout in batch]
            for state, batch in zip(states, batches, strict=True)
        ]

    def outgoing(self, state: State, pass_through: bool) -> list[Trajectory]:
        """One trajectory per applicable action.

        With `pass_through` it goes on through forced states, up to a state with a choice, a goal or a dead end.
        """
        return [self.follow(state, action, pass_through) for action in self.task.applicable(state)]

    def follow(self, state: State, action: Action, pass_through: bool) -> Trajectory:
        """The trajectory out of a state that begins with an applicable action."""
        states, actions = [state, self.task.apply(state, action)], [action]
        while pass_through and not self.task.is_goal(states[-1]) and not self.budget.exhausted():
            applicable = self.task.applicable(states[-1])
            if len(applicable) != 1:
                break
            successor = self.task.apply(states[-1], applicable[0])
            if successor in states:
                break
            states.append(successor)
            actions.append(applicable[0])
        steps = tuple(Step(action, 1.0) for action in actions)
        return Trajectory(tuple(states), steps, self.task.is_goal(states[-1]))

    def priors(self, state: State, actions: Sequence[Action]) -> list[float]:
        """The policy's probability of each action, normalised over `actions`."""
        assert self.policy is not None
        return self.policy.priors(self.task, state, actions) if actions else []

    def estimate(self, states: Iterable[State]) -> dict[State, float]:
        """The heuristic of each state, 0 for goals. States that the budget leaves no time for are missing."""
        assert self.heuristic is not None
        estimates: dict[State, float] = {}
        unknown: list[State] = []
        for state in dict.fromkeys(states):
            if self.task.is_goal(state):
                estimates[state] = 0.0
            else:
                unknown.append(state)
        for first in range(0, len(unknown), EVALUATION_BATCH):
            if self.budget.exhausted():
                break
            batch = unknown[first : first + EVALUATION_BATCH]
            estimates.update(zip(batch, self.heuristic.estimate(self.task, batch), strict=True))
            self.counters.evaluated += len(batch)
        return estimates
