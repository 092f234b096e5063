"""One rollout while it is sampled: tokens become actions, actions are applied, and the first mistake ends it.

Rollouts of a task share the states they visit, so that each action is applied once. With `viable` decoding they also
share which tokens lead into a trap: to a dead end (a row of Labyrinth cannot be shifted past its robot) or round a
circle of forced states, with no choice in between. Such a token is undone and not offered again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from oclgen.interfaces import Action, Rollout, State, Step, Task

MAX_VISITED = 10_000
MAX_CHOICES = 500_000
"""States of a task, and applicable actions in their tries, that are remembered; when there are more, all are
forgotten."""
Choices: TypeAlias = dict[int, "Choices"]
"""A trie of token sequences: which tokens may come next, and what may come after each."""
DEAD: Choices = {-1: {}}
"""What follows a token that leads into a trap."""
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
    """The tokens that may come next and are not known to lead into a trap."""
    return [token for token, following in choices.items() if following is not DEAD]


def closed(choices: Choices) -> bool:
    """Whether nothing is offered."""
    return all(following is DEAD for following in choices.values())


@dataclass(slots=True)
class Held:
    """How many applicable actions are in the tries of the states that are remembered."""

    actions: int = 0


@dataclass(frozen=True, slots=True)
class Grammar:
    """How tokens read in one task: operators with their arities, objects; everything else ends a rollout."""

    task: Task
    operators: Mapping[int, tuple[str, int]]
    objects: Mapping[int, str]
    tokens: Callable[[Action], Sequence[int]]
    _visited: "dict[State, VisitedState]" = field(default_factory=dict)
    _actions: dict[tuple[int, ...], Action] = field(default_factory=dict)
    held: Held = field(default_factory=Held)

    def action(self, tokens: tuple[int, ...]) -> Action:
        """The action of an operator's token and the tokens of its arguments."""
        action = self._actions.get(tokens)
        if action is None:
            name, _ = self.operators[tokens[0]]
            action = self._actions[tokens] = (name, *(self.objects[token] for token in tokens[1:]))
        return action

    def visit(self, state: State) -> "VisitedState":
        known = self._visited.get(state)
        if known is None:
            if len(self._visited) >= MAX_VISITED or self.held.actions >= MAX_CHOICES:
                self._visited.clear()
                self.held.actions = 0
            known = self._visited[state] = VisitedState(self, state)
        return known


class VisitedState:
    """A state that some rollout visited, with what is known of it."""

    __slots__ = ("_applicable", "_choices", "_grammar", "_successors", "is_goal", "state")

    def __init__(self, grammar: Grammar, state: State) -> None:
        self.state = state
        self.is_goal = grammar.task.is_goal(state)
        self._grammar = grammar
        self._successors: dict[Action, State | None] = {}
        self._applicable: Sequence[Action] | None = None
        self._choices: Choices | None = None

    def successor(self, action: Action) -> "VisitedState | None":
        """None where the action is not applicable."""
        if action not in self._successors:
            self._successors[action] = self._grammar.task.apply(self.state, action)
        successor = self._successors[action]
        return None if successor is None else self._grammar.visit(successor)

    @property
    def applicable(self) -> Sequence[Action]:
        """The applicable actions; none in a goal state."""
        if self._applicable is None:
            self._applicable = () if self.is_goal else self._grammar.task.applicable(self.state)
        return self._applicable

    @property
    def choices(self) -> Choices:
        """The token sequences of the applicable actions."""
        if self._choices is None:
            self._choices = trie([self._grammar.tokens(action) for action in self.applicable])
            self._grammar.held.actions += len(self.applicable)
        return self._choices


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A rollout before its last sampled token."""

    visited: VisitedState
    steps: int
    action: tuple[str, ...]
    missing: int
    confidence: float
    choices: Choices
    length: int


class RolloutBuilder:
    """Builds a rollout token by token. `choices` are the tokens it may continue with, where decoding is restricted;
    `length` is the number of tokens read in this window."""

    __slots__ = (
        "_action",
        "_before",
        "_confidence",
        "_forced_states",
        "_grammar",
        "_max_actions",
        "_missing",
        "_over",
        "_sampled",
        "_snapshot",
        "_steps",
        "_visited",
        "choices",
        "length",
    )

    def __init__(self, grammar: Grammar, start: VisitedState, restricted: bool, max_actions: int | None) -> None:
        self._grammar = grammar
        self._visited = start
        self._max_actions = max_actions
        self._steps: list[Step] = []
        self._before = 0  # steps of earlier windows
        self._over = False
        self._action: list[str] = []
        self._missing = 0  # arguments of the action under way
        self._confidence = 1.0
        self._snapshot: Snapshot | None = None
        self._sampled: list[tuple[Choices, int]] = []  # every sampled token, and what it was chosen from
        self._forced_states: set[State] = set()  # visited since the last sampled token
        self.length = 0
        self.choices = start.choices if restricted else None

    @property
    def rollout(self) -> Rollout:
        return tuple(self._steps)

    @property
    def state(self) -> State:
        """The state after the last complete action."""
        return self._visited.state

    @property
    def ended(self) -> bool:
        """At the goal, at the allowed number of actions, or stuck."""
        return self._visited.is_goal or len(self._steps) == self._max_actions or self.stuck

    @property
    def fills_window(self) -> bool:
        """Whether nothing but the window's length ended it: neither a mistake nor the end token, and it took steps."""
        return not self._over and not self.ended and len(self._steps) > self._before

    def next_window(self) -> None:
        """Go on from the last state with a fresh prompt; an unfinished action is dropped."""
        self._before, self.length = len(self._steps), 0
        self._action, self._missing, self._confidence = [], 0, 1.0
        self._snapshot, self._sampled = None, []
        self._forced_states.clear()
        self.choices = None if self.choices is None else self._visited.choices

    def stop(self, tokens: Sequence[int]) -> None:
        """Read tokens that are no action: the end token, or an action that the window's length cut off."""
        self.length += len(tokens)
        self._over = self._over or tokens[0] not in self._grammar.operators

    @property
    def stuck(self) -> bool:
        """Whether no token may follow although this is no goal: in a dead end, or where forced states repeat."""
        return self.choices is not None and not self._visited.is_goal and closed(self.choices)

    @property
    def forced(self) -> int | None:
        """The only token that may follow; None where there are more, or where decoding is free."""
        return next(iter(self.choices)) if self.choices is not None and len(self.choices) == 1 else None

    def extend(self, token: int, probability: float) -> bool:
        """Read a sampled token; false where the rollout ends with it."""
        if self.choices is not None:
            self._remember(self.choices, token)
        self._forced_states.clear()
        self.length += 1
        return self._continue(token, probability)

    def act(self, tokens: Sequence[int], confidence: float) -> bool:
        """Read a whole action, where decoding is free; false where the rollout ends with it or before it."""
        self.length += len(tokens)
        action = self._grammar.action(tuple(tokens))
        visited = self._visited.successor(action)
        if visited is None:
            self._over = True
            return False
        self._steps.append(Step(action, confidence))
        self._visited = visited
        return not self.ended

    def force(self, token: int) -> bool:
        """Read the only token that may follow; false where the rollout ends with it."""
        self.length += 1
        return self._continue(token, 1.0)

    def backtrack(self) -> None:
        """Stuck: undo the last sampled token, which is not offered again. Where nothing else is offered in its place,
        the token sampled before it is not offered again either, and so on."""
        before = self._snapshot
        assert before is not None
        self._visited, self._missing, self._confidence = before.visited, before.missing, before.confidence
        self._action, self.choices, self.length = list(before.action), before.choices, before.length
        del self._steps[before.steps :]
        for choices, token in reversed(self._sampled):
            choices[token] = DEAD
            if not closed(choices):
                break
        self._sampled.pop()

    def _remember(self, choices: Choices, token: int) -> None:
        action, steps = tuple(self._action), len(self._steps)
        self._snapshot = Snapshot(self._visited, steps, action, self._missing, self._confidence, choices, self.length)
        self._sampled.append((choices, token))

    def _continue(self, token: int, probability: float) -> bool:
        if not self._read(token):
            self._over = True
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
        visited = self._visited.successor(tuple(self._action))
        if visited is None:
            self._over = True
            return False
        self._steps.append(Step(tuple(self._action), self._confidence))
        self._visited = visited
        self._action.clear()
        self._confidence = 1.0
        if self.choices is not None:
            self.choices = CLOSED if visited.state in self._forced_states else visited.choices
            self._forced_states.add(visited.state)
        return not self.ended
