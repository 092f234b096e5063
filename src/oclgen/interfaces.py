"""The whole contract between tasks, models and searches.

A search sees a `Task` (states and actions), a `Policy` (proposes action sequences) and a `Heuristic` (estimates
cost-to-go). It knows nothing of PDDL, networks or encodings. Searches do not trust a policy: they replay its rollouts
on the task.

Paper: Section 3 (tasks and autoregressive policies), Section 4.4 (distributional heuristic).
"""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

Atom = tuple[str, ...]
"""A ground atom, predicate first: `("on", "b1", "b2")`. Lower case."""

Action = tuple[str, ...]
"""A ground action, operator first: `("stack", "b1", "b2")`. Lower case."""

Plan = tuple[Action, ...]

State = Hashable
"""Opaque: only the task that made it can read it. Equal states compare equal."""


class Task(Protocol):
    """A deterministic planning task with unit costs."""

    @property
    def initial_state(self) -> State: ...

    @property
    def ground_action_bound(self) -> int:
        """Upper bound on the number of ground actions, from types and static preconditions (the paper's |A|)."""
        ...

    def is_goal(self, state: State) -> bool: ...

    def applicable(self, state: State) -> Sequence[Action]:
        """All applicable actions, in an order that depends on the state only."""
        ...

    def apply(self, state: State, action: Action) -> State | None:
        """The successor, or None if `action` is unknown, ill-typed or not applicable."""
        ...


Facts = frozenset[int]
"""What is true in a state, as numbers of the task's own."""


class Effect(NamedTuple):
    """What happens where the condition holds; a fact that is both deleted and added is true."""

    needed: Facts
    forbidden: Facts
    added: Facts
    deleted: Facts


class GroundAction(NamedTuple):
    """An action by its facts."""

    needed: Facts
    forbidden: Facts
    effects: tuple[Effect, ...]


@runtime_checkable
class FactTask(Task, Protocol):
    """A task whose states are sets of facts. To follow actions on such sets is many times faster than `apply`."""

    @property
    def follows_facts(self) -> bool:
        """Whether `ground` says all about an action: not where conditions are more than facts."""
        ...

    def facts(self, state: State) -> Facts: ...

    def ground(self, action: Action) -> GroundAction:
        """`action` is well-formed."""
        ...

    @property
    def goal_facts(self) -> tuple[Facts, Facts]:
        """What is true in every goal state, and what is false: a necessary condition."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a rollout; `confidence` is the lowest probability of any of its sampled tokens."""

    action: Action
    confidence: float


Rollout = tuple[Step, ...]


class Policy(Protocol):
    """A generative model of plans."""

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
        """For each state, `samples` rollouts: action sequences sampled at temperature 1.

        A rollout ends at the goal, before its first inapplicable action, at the model's end token, after
        `max_tokens` tokens (an unfinished action is dropped) or `max_actions` actions, or as soon as `should_stop`
        returns true (the actions finished by then are returned). Without a limit the model's own limit holds.
        With `restricted` only applicable actions are sampled, however the policy samples by itself.
        """
        ...

    def priors(self, task: Task, state: State, actions: Sequence[Action]) -> list[float]:
        """For each action, the geometric mean of its token probabilities, normalised over `actions`."""
        ...


class Heuristic(Protocol):
    """A model of cost-to-go. A distribution is reduced to one number, a percentile or the mode."""

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]: ...
