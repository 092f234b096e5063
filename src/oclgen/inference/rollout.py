"""One rollout while it is sampled: tokens become actions, actions are applied, and the first mistake ends it.

Rollouts of a state that begin alike share what they reach, so that each action is applied once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from oclgen.encoding.choices import Choices, trie
from oclgen.interfaces import Action, Rollout, State, Step, Task

MAX_SKIPPED = 1000
"""Tokens skipped in a row: there may be no way but round in a circle."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """How tokens read in one task: operators with their arities, objects; everything else ends a rollout."""

    task: Task
    operators: Mapping[int, tuple[str, int]]
    objects: Mapping[int, str]
    tokens: Callable[[Action], Sequence[int]]


class Reached:
    """A state that some rollout reached."""

    __slots__ = ("_choices", "_successors", "is_goal", "state")

    def __init__(self, task: Task, state: State) -> None:
        self.state = state
        self.is_goal = task.is_goal(state)
        self._successors: dict[Action, Reached | None] = {}
        self._choices: Choices | None = None

    def follow(self, task: Task, action: Action) -> "Reached | None":
        """Where an action leads; None where it is not applicable."""
        if action not in self._successors:
            successor = task.apply(self.state, action)
            self._successors[action] = None if successor is None else Reached(task, successor)
        return self._successors[action]

    def choices(self, grammar: Grammar) -> Choices:
        """The token sequences of the applicable actions."""
        if self._choices is None:
            self._choices = trie([grammar.tokens(action) for action in grammar.task.applicable(self.state)])
        return self._choices


class Draft:
    """A rollout under way. `choices` are the tokens it may continue with, where decoding is restricted; `length` is
    the number of tokens read, those skipped not counted."""

    __slots__ = (
        "_action",
        "_confidence",
        "_grammar",
        "_max_actions",
        "_missing",
        "_reached",
        "_steps",
        "choices",
        "length",
    )

    def __init__(self, grammar: Grammar, start: Reached, restricted: bool, max_actions: int | None) -> None:
        self._grammar = grammar
        self._reached = start
        self._max_actions = max_actions
        self._steps: list[Step] = []
        self._action: list[str] = []
        self._missing = 0
        self._confidence = 1.0
        self.length = 0
        self.choices = start.choices(grammar) if restricted else None

    @property
    def rollout(self) -> Rollout:
        return tuple(self._steps)

    @property
    def state(self) -> State:
        """Where its last finished action led."""
        return self._reached.state

    @property
    def ended(self) -> bool:
        """At the goal, at the allowed number of actions, or where no action is applicable."""
        return self._reached.is_goal or len(self._steps) == self._max_actions or self.choices == {}

    @property
    def forced(self) -> int | None:
        """The only token that it may continue with, if there is but one."""
        return next(iter(self.choices)) if self.choices is not None and len(self.choices) == 1 else None

    def extend(self, token: int, probability: float) -> bool:
        """Read one more token; false where the rollout ends with it."""
        self.length += 1
        return self._continue(token, probability)

    def skip(self) -> bool:
        """Read the tokens that must follow without counting them; false where the rollout ends with them."""
        for _ in range(MAX_SKIPPED):
            if self.ended or (forced := self.forced) is None:
                break
            self._continue(forced, 1.0)
        return not self.ended

    def _continue(self, token: int, probability: float) -> bool:
        if not self._read(token):
            return False
        self._confidence = min(self._confidence, probability)
        if self.choices is not None:
            self.choices = self.choices[token]
        return self._missing > 0 or self._complete()

    def _read(self, token: int) -> bool:
        if not self._action:
            operator = self._grammar.operators.get(token)
            if operator is None:
                return False
            self._action.append(operator[0])
            self._missing = operator[1]
            return True
        name = self._grammar.objects.get(token)
        if name is None:
            return False
        self._action.append(name)
        self._missing -= 1
        return True

    def _complete(self) -> bool:
        action = tuple(self._action)
        reached = self._reached.follow(self._grammar.task, action)
        if reached is None:
            return False
        self._steps.append(Step(action, self._confidence))
        self._reached = reached
        self._action.clear()
        self._confidence = 1.0
        if self.choices is not None and not reached.is_goal:
            self.choices = reached.choices(self._grammar)
        return not self.ended
