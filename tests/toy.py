"""Tasks and models small enough to check by hand: search tests use them instead of PDDL and networks.

`NumberLine` and `DigraphTask` implement the `Task` protocol. `ScriptedPolicy` returns given rollouts, `WanderingPolicy`
random walks; `TableHeuristic`, `ExactHeuristic` and `RandomHeuristic` need no network.
"""

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oclgen.interfaces import Action, Plan, Rollout, State, Step, Task


@dataclass(frozen=True)
class NumberLine:
    """Walk from `start` to `goal` on the numbers 0..`size`-1 in steps of +1, -1 and +`stride`."""

    start: int = 0
    goal: int = 12
    size: int = 20
    stride: int = 5
    ground_action_bound: int = 3

    @property
    def initial_state(self) -> State:
        return self.start

    def is_goal(self, state: State) -> bool:
        return state == self.goal

    def applicable(self, state: State) -> Sequence[Action]:
        return [action for action in (("up",), ("down",), ("leap",)) if self.apply(state, action) is not None]

    def apply(self, state: State, action: Action) -> State | None:
        assert isinstance(state, int)
        changes: dict[Action, int] = {("up",): 1, ("down",): -1, ("leap",): self.stride}
        change = changes.get(action)
        if change is None or not 0 <= state + change < self.size:
            return None
        return state + change


@dataclass(frozen=True)
class DigraphTask:
    """Vertices are states, edges are actions `("go", target)`."""

    edges: Mapping[int, tuple[int, ...]]
    goals: frozenset[int]
    start: int = 0
    ground_action_bound: int = 0

    @property
    def initial_state(self) -> State:
        return self.start

    def is_goal(self, state: State) -> bool:
        return state in self.goals

    def applicable(self, state: State) -> Sequence[Action]:
        assert isinstance(state, int)
        return [("go", str(target)) for target in self.edges.get(state, ())]

    def apply(self, state: State, action: Action) -> State | None:
        return int(action[1]) if action in self.applicable(state) else None


def random_digraph(rng: random.Random, vertices: int, edges: int, goals: int) -> DigraphTask:
    """A random task whose goals may be unreachable; its initial state is no goal."""
    targets: dict[int, set[int]] = {vertex: set() for vertex in range(vertices)}
    for _ in range(edges):
        targets[rng.randrange(vertices)].add(rng.randrange(vertices))
    chosen = frozenset(rng.sample(range(1, vertices), min(goals, vertices - 1)))
    return DigraphTask({vertex: tuple(sorted(found)) for vertex, found in targets.items()}, chosen)


def distances(task: Task, start: State | None = None) -> dict[State, int]:
    """Length of the shortest path from `start` (else the initial state) to every reachable state."""
    first = task.initial_state if start is None else start
    found = {first: 0}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        for action in task.applicable(state):
            successor = task.apply(state, action)
            if successor not in found:
                found[successor] = found[state] + 1
                queue.append(successor)
    return found


def optimal_length(task: Task) -> int | None:
    return min((length for state, length in distances(task).items() if task.is_goal(state)), default=None)


def replays_to_goal(task: Task, plan: Plan) -> bool:
    state: State | None = task.initial_state
    for action in plan:
        state = None if state is None else task.apply(state, action)
    return state is not None and task.is_goal(state)


class RecordingPolicy:
    """Base of the toy policies: records its calls and has uniform priors."""

    def __init__(self) -> None:
        self.calls: list[dict[str, object]] = []

    def propose(self, task: Task, state: State, rng: random.Random, actions: int) -> Iterable[Step]:
        raise NotImplementedError

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
        """Each action counts as one token."""
        self.calls.append(
            {"states": list(states), "samples": samples, "max_tokens": max_tokens, "max_actions": max_actions}
        )
        limit = min(40 if bound is None else bound for bound in (max_tokens, max_actions))
        if should_stop is not None and should_stop():
            limit = 0
        return [[tuple(self.propose(task, state, rng, limit))[:limit] for _ in range(samples)] for state in states]

    def priors(self, task: Task, state: State, actions: Sequence[Action]) -> list[float]:
        return [1 / len(actions)] * len(actions)


class ScriptedPolicy(RecordingPolicy):
    """From each state the given rollouts in turn, valid or not; an empty rollout where none is given.

    `priors` gives weights of actions by state; an action without one has weight 1.
    """

    def __init__(
        self, script: Mapping[Any, Sequence[Rollout]], priors: Mapping[Any, Mapping[Action, float]] | None = None
    ) -> None:
        super().__init__()
        self._script = script
        self._priors = priors or {}
        self._turn: dict[State, int] = {}

    def propose(self, task: Task, state: State, rng: random.Random, actions: int) -> Iterable[Step]:
        choices = self._script.get(state, ((),))
        turn = self._turn.get(state, 0)
        self._turn[state] = turn + 1
        return choices[turn % len(choices)]

    def priors(self, task: Task, state: State, actions: Sequence[Action]) -> list[float]:
        weights = [self._priors.get(state, {}).get(action, 1.0) for action in actions]
        return [weight / sum(weights) for weight in weights]


class WanderingPolicy(RecordingPolicy):
    """Random walks with random confidence; with probability `blunder` a step is an action that does not exist."""

    def __init__(self, blunder: float = 0.1) -> None:
        super().__init__()
        self._blunder = blunder

    def propose(self, task: Task, state: State, rng: random.Random, actions: int) -> Iterable[Step]:
        for _ in range(rng.randint(0, actions)):
            choices = task.applicable(state)
            if not choices or rng.random() < self._blunder:
                yield Step(("nonsense",), rng.random())
                return
            action = rng.choice(choices)
            yield Step(action, rng.random())
            successor = task.apply(state, action)
            assert successor is not None
            state = successor


@dataclass
class TableHeuristic:
    """A given value for each state. `asked` records the states of each call."""

    values: Mapping[Any, float]
    asked: list[list[State]] = field(default_factory=list)

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        self.asked.append(list(states))
        return [self.values[state] for state in states]


@dataclass
class ExactHeuristic:
    """The true cost-to-go, or `dead_end` if there is no plan. `asked` records the states of each call."""

    dead_end: float = 1000.0
    asked: list[list[State]] = field(default_factory=list)

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        self.asked.append(list(states))
        return [self._cost(task, state) for state in states]

    def _cost(self, task: Task, state: State) -> float:
        lengths = (length for found, length in distances(task, state).items() if task.is_goal(found))
        return float(min(lengths, default=self.dead_end))


@dataclass
class RandomHeuristic:
    """A number between 0 and `largest` that depends on the state and the seed only."""

    seed: int = 0
    largest: int = 10
    asked: list[list[State]] = field(default_factory=list)

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        self.asked.append(list(states))
        return [float(random.Random(f"{self.seed} {state}").randint(0, self.largest)) for state in states]


def steps(*actions: str, confidence: float = 1.0) -> Rollout:
    """A rollout of the given actions, all with the same confidence: `steps("up", "go 3")`."""
    return tuple(Step(tuple(action.split()), confidence) for action in actions)
