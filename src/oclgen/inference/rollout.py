"""One rollout while it is sampled: tokens become actions, actions are applied, and the first mistake ends it.

Rollouts of a task share what they reach, so that each action is applied once. Where decoding is `viable`
they also share where one gets stuck: a token after which no choice is left before a dead end (a row of Labyrinth cannot
be shifted past its robot) or before forced states repeat is taken back and not offered again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from oclgen.interfaces import Action, Rollout, State, Step, Task

MAX_KNOWN = 10_000
"""States of a task that are remembered; beyond, memory begins anew."""
Choices: TypeAlias = dict[int, "Choices"]
"""A trie of token sequences: which tokens may come next, and what may come after each."""
DEAD: Choices = {-1: {}}
"""What stands in a trie behind a token that leads into a dead end."""
CLOSED: Choices = {-1: DEAD}
"""Choices of which none is offered."""


def trie(sequences: Sequence[Sequence[int]]) -> Choices:
    root: Choices = {}
    for sequence in sequences:
        branch = root
        for token in sequence:
            branch = branch.setdefault(token, {})
    return root


def offered(choices: Choices) -> list[int]:
    """The tokens that may come next and are not known to lead into a dead end."""
    return [token for token, behind in choices.items() if behind is not DEAD]


def closed(choices: Choices) -> bool:
    """Whether nothing is offered."""
    return all(behind is DEAD for behind in choices.values())


@dataclass(frozen=True, slots=True)
class Grammar:
    """How tokens read in one task: operators with their arities, objects; everything else ends a rollout."""

    task: Task
    operators: Mapping[int, tuple[str, int]]
    objects: Mapping[int, str]
    tokens: Callable[[Action], Sequence[int]]
    _known: "dict[State, Reached]" = field(default_factory=dict)
    _actions: dict[tuple[int, ...], Action] = field(default_factory=dict)

    def action(self, tokens: tuple[int, ...]) -> Action:
        """The action that an operator and the right number of objects make."""
        action = self._actions.get(tokens)
        if action is None:
            name, _ = self.operators[tokens[0]]
            action = self._actions[tokens] = (name, *(self.objects[token] for token in tokens[1:]))
        return action

    def reached(self, state: State) -> "Reached":
        known = self._known.get(state)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[state] = Reached(self, state)
        return known


class Reached:
    """A state that some rollout reached."""

    __slots__ = ("_applicable", "_choices", "_grammar", "_successors", "is_goal", "state")

    def __init__(self, grammar: Grammar, state: State) -> None:
        self.state = state
        self.is_goal = grammar.task.is_goal(state)
        self._grammar = grammar
        self._successors: dict[Action, State | None] = {}
        self._applicable: Sequence[Action] | None = None
        self._choices: Choices | None = None

    def follow(self, action: Action) -> "Reached | None":
        """Where an action leads; None where it is not applicable."""
        if action not in self._successors:
            self._successors[action] = self._grammar.task.apply(self.state, action)
        successor = self._successors[action]
        return None if successor is None else self._grammar.reached(successor)

    @property
    def applicable(self) -> Sequence[Action]:
        """What can be done; nothing at the goal."""
        if self._applicable is None:
            self._applicable = () if self.is_goal else self._grammar.task.applicable(self.state)
        return self._applicable

    @property
    def choices(self) -> Choices:
        """The token sequences of the applicable actions."""
        if self._choices is None:
            self._choices = trie([self._grammar.tokens(action) for action in self.applicable])
        return self._choices


class Draft:
    """A rollout under way. `choices` are the tokens it may continue with, where decoding is restricted; `length` is
    the number of tokens read."""

    __slots__ = (
        "_action",
        "_before",
        "_confidence",
        "_forced_states",
        "_grammar",
        "_max_actions",
        "_missing",
        "_reached",
        "_steps",
        "_taken",
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
        self._before: tuple[Reached, int, list[str], int, float, Choices, int] | None = None
        self._taken: list[tuple[Choices, int]] = []
        self._forced_states: set[State] = set()  # reached since the last sampled token
        self.length = 0
        self.choices = start.choices if restricted else None

    @property
    def rollout(self) -> Rollout:
        return tuple(self._steps)

    @property
    def state(self) -> State:
        """Where its last finished action led."""
        return self._reached.state

    @property
    def ended(self) -> bool:
        """At the goal, at the allowed number of actions, or stuck."""
        return self._reached.is_goal or len(self._steps) == self._max_actions or self.stuck

    @property
    def stuck(self) -> bool:
        """Short of the goal where no token may follow: in a dead end, or where forced states repeat."""
        return self.choices is not None and not self._reached.is_goal and closed(self.choices)

    @property
    def forced(self) -> int | None:
        """The only token that it may continue with, if there is but one."""
        return next(iter(self.choices)) if self.choices is not None and len(self.choices) == 1 else None

    def extend(self, token: int, probability: float) -> bool:
        """Read one more token; false where the rollout ends with it."""
        if self.choices is not None:
            self._remember(self.choices, token)
        self._forced_states.clear()
        self.length += 1
        return self._continue(token, probability)

    def act(self, tokens: Sequence[int], confidence: float) -> bool:
        """Read a whole action, where decoding is free; false where the rollout ends with it or before it."""
        self.length += len(tokens)
        action = self._grammar.action(tuple(tokens))
        reached = self._reached.follow(action)
        if reached is None:
            return False
        self._steps.append(Step(action, confidence))
        self._reached = reached
        return not self.ended

    def force(self, token: int) -> bool:
        """Read the only token that may follow."""
        self.length += 1
        return self._continue(token, 1.0)

    def take_back(self) -> None:
        """Stuck: return to the last token that was a choice, which is offered no more. Where nothing else is offered
        there either, that holds for the choice before it too."""
        assert self._before is not None
        self._reached, steps, self._action, self._missing, self._confidence, self.choices, self.length = self._before
        del self._steps[steps:]
        for choices, token in reversed(self._taken):
            choices[token] = DEAD
            if not closed(choices):
                break
        self._taken.pop()

    def _remember(self, choices: Choices, token: int) -> None:
        action = list(self._action)
        self._before = (
            self._reached,
            len(self._steps),
            action,
            self._missing,
            self._confidence,
            choices,
            self.length,
        )
        self._taken.append((choices, token))

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
        reached = self._reached.follow(tuple(self._action))
        if reached is None:
            return False
        self._steps.append(Step(tuple(self._action), self._confidence))
        self._reached = reached
        self._action.clear()
        self._confidence = 1.0
        if self.choices is not None:
            self.choices = CLOSED if reached.state in self._forced_states else reached.choices
            self._forced_states.add(reached.state)
        return not self.ended
