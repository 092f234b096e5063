"""Rollouts of Best-of-N and MCTS that are chained into longer ones (ours): for policies that write short windows.

OCLGen chains whole batches instead (`chaining.py`).
"""

import sys
from dataclasses import dataclass, field

from oclgen.interfaces import State
from oclgen.search.context import SearchContext, Trajectory


@dataclass(slots=True)
class Chain:
    """A trajectory that grows by rollouts, each from the last state of the one before, to at most `most` actions."""

    trajectory: Trajectory
    most: int
    makes_progress: bool = True
    _seen: set[State] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._seen.update(self.trajectory.states)

    def extend(self, rollout: Trajectory) -> None:
        """A rollout that reaches no state new to the chain is no progress."""
        self.makes_progress = not self._seen.issuperset(rollout.states)
        self._seen.update(rollout.states)
        self.trajectory = self.trajectory.then(rollout.cut(self.left))

    @property
    def left(self) -> int:
        """The actions that may follow."""
        return self.most - len(self.trajectory.steps)

    @property
    def goes_on(self) -> bool:
        return self.makes_progress and self.left > 0 and not self.trajectory.reaches_goal


def chained_rollouts(
    context: SearchContext,
    state: State,
    samples: int,
    links: int,
    max_tokens: int | None = None,
    max_actions: int | None = None,
) -> list[Trajectory]:
    """`samples` trajectories of at most `links` rollouts each and of at most `max_actions` actions.

    `max_tokens` limits each rollout. A trajectory ends at a goal, or when a rollout makes no progress.
    """
    chains = [empty_chain(context, state, max_actions) for _ in range(samples)]
    if not chains[0].goes_on:
        return [chain.trajectory for chain in chains]
    [first] = context.sample([state], samples, max_tokens, max_actions)
    for chain, rollout in zip(chains, first, strict=True):
        chain.extend(rollout)
    for _ in range(1, links):
        growing = [chain for chain in chains if chain.goes_on]
        if not growing or context.budget.exhausted():
            break
        longest = None if max_actions is None else max(chain.left for chain in growing)
        batches = context.sample([chain.trajectory.states[-1] for chain in growing], 1, max_tokens, longest)
        for chain, [rollout] in zip(growing, batches, strict=True):
            chain.extend(rollout)
    return [chain.trajectory for chain in chains]


def empty_chain(context: SearchContext, state: State, max_actions: int | None) -> Chain:
    most = sys.maxsize if max_actions is None else max_actions
    return Chain(Trajectory((state,), (), context.task.is_goal(state)), most)
