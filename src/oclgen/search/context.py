"""How searches ask the models: what a policy proposes is replayed on the task, what a heuristic is asked is
counted and cut into small batches, and the budget is asked all along so that limits hold.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oclgen.interfaces import Action, Heuristic, Plan, Policy, Rollout, State, Step, Task
from oclgen.search.anytime import Budget, Counters

EVALUATION_BATCH = 32
"""States per heuristic call: enough to fill the model, few enough to meet a deadline between two calls."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A replayed rollout: `states[i]` is where `steps[i]` is taken; there is one more state than steps."""

    states: tuple[State, ...]
    steps: tuple[Step, ...]
    reaches_goal: bool

    @property
    def actions(self) -> Plan:
        return tuple(step.action for step in self.steps)

    def then(self, other: "Trajectory") -> "Trajectory":
        """Followed by another that starts where this one ends."""
        return Trajectory(self.states[:-1] + other.states, self.steps + other.steps, other.reaches_goal)

    def cut(self, steps: int) -> "Trajectory":
        """Its first steps, where it has more."""
        if steps >= len(self.steps):
            return self
        return Trajectory(self.states[: steps + 1], self.steps[:steps], reaches_goal=False)


def replay(task: Task, state: State, rollout: Rollout) -> Trajectory:
    """The valid part of a rollout: cut before its first inapplicable action and at the first goal."""
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
    """All actions applicable in a state with the states they lead to."""
    return [(action, task.apply(state, action)) for action in task.applicable(state)]


@dataclass(frozen=True, slots=True)
class Models:
    """A task with its two models, asked on one budget, with one generator, into one record of counters.

    A method that never asks one of the models can leave it out.
    """

    task: Task
    policy: Policy | None
    heuristic: Heuristic | None
    budget: Budget
    rng: random.Random
    counters: Counters

    def sample(
        self,
        states: Sequence[State],
        samples: int,
        max_tokens: int | None = None,
        max_actions: int | None = None,
    ) -> list[list[Trajectory]]:
        """For each state, `samples` replayed rollouts."""
        assert self.policy is not None
        batches = self.policy.rollouts(
            self.task,
            states,
            samples,
            self.rng,
            max_tokens=max_tokens,
            max_actions=max_actions,
            should_stop=self.budget.exhausted,
        )
        self.counters.rollouts += sum(map(len, batches))
        return [
            [replay(self.task, state, rollout) for rollout in batch]
            for state, batch in zip(states, batches, strict=True)
        ]

    def chains(self, state: State, samples: int, links: int, max_tokens: int | None = None) -> list[Trajectory]:
        """`samples` chains of at most `links` rollouts, each next one from where the last ended, the state encoded
        afresh; a chain ends at a goal and where it does not move on."""
        [chains] = self.sample([state], samples, max_tokens)
        moving = {i for i, chain in enumerate(chains) if chain.steps}
        for _ in range(1, links):
            going = sorted(i for i in moving if not chains[i].reaches_goal)
            if not going or self.budget.exhausted():
                break
            following = self.sample([chains[i].states[-1] for i in going], 1, max_tokens)
            for i, [rollout] in zip(going, following, strict=True):
                chains[i] = chains[i].then(rollout)
            moving = {i for i, [rollout] in zip(going, following, strict=True) if rollout.steps}
        return chains

    def ways(self, state: State, passing: bool) -> list[Trajectory]:
        """Each step out of a state; when `passing`, on to where there is a choice, a goal or nothing to do."""
        steps = successors(self.task, state)
        return [self._onward(state, action, successor, passing) for action, successor in steps]

    def _onward(self, state: State, action: Action, successor: State, passing: bool) -> Trajectory:
        states, actions = [state, successor], [action]
        while passing and not self.task.is_goal(states[-1]) and not self.budget.exhausted():
            following = self.task.applicable(states[-1])
            if len(following) != 1:
                break
            successor = self.task.apply(states[-1], following[0])
            if successor in states:
                break
            states.append(successor)
            actions.append(following[0])
        steps = tuple(Step(action, 1.0) for action in actions)
        return Trajectory(tuple(states), steps, self.task.is_goal(states[-1]))

    def priors(self, state: State, actions: Sequence[Action]) -> list[float]:
        """How likely the policy finds each action, normalised over them."""
        assert self.policy is not None
        return self.policy.priors(self.task, state, actions) if actions else []

    def estimate(self, states: Iterable[State]) -> dict[State, float]:
        """The heuristic of each state, 0 for goals; states whose turn comes after the budget's end are left out."""
        assert self.heuristic is not None
        values: dict[State, float] = {}
        asked: list[State] = []
        for state in dict.fromkeys(states):
            if self.task.is_goal(state):
                values[state] = 0.0
            else:
                asked.append(state)
        for first in range(0, len(asked), EVALUATION_BATCH):
            if self.budget.exhausted():
                break
            batch = asked[first : first + EVALUATION_BATCH]
            values.update(zip(batch, self.heuristic.estimate(self.task, batch), strict=True))
            self.counters.evaluated += len(batch)
        return values
