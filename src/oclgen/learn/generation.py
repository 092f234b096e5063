"""How many problems a policy's own rollouts solve, which the loss does not show.

Rollouts are chained: several are sampled from the initial state; if none reaches the goal, the next ones start where
the longest valid one ended. `links` is the length of such a chain; with one link this is the paper's Best-of-N.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from oclgen.inference.checkpoint_policy import checkpoint_policy, relational_policy
from oclgen.inference.policy import ModelPolicy
from oclgen.inference.relational.encoded_states import native_model
from oclgen.interfaces import Policy, State
from oclgen.learn.settings import Generation
from oclgen.pddl.task import PddlTask
from oclgen.relational_checkpoint import RelationalCheckpoint, load_any
from oclgen.search.context import replay


def completion(folder: Path, tasks: Sequence[PddlTask], settings: Generation, seed: int) -> dict[str, float]:
    """Share of tasks solved, and the mean number of valid actions in a rollout."""
    policy = open_policy(folder)
    results = [chain(policy, task, settings, random.Random(seed)) for task in tasks]
    lengths = [length for _, valid in results for length in valid]
    return {
        "completion": sum(solved for solved, _ in results) / len(results),
        "valid_actions": sum(lengths) / max(1, len(lengths)),
    }


def open_policy(folder: Path) -> ModelPolicy:
    """The policy of a checkpoint of any kind."""
    checkpoint = load_any(folder)
    if isinstance(checkpoint, RelationalCheckpoint):
        return relational_policy(native_model(checkpoint))
    return checkpoint_policy(checkpoint)


def chain(policy: Policy, task: PddlTask, settings: Generation, rng: random.Random) -> tuple[bool, list[int]]:
    """Whether the goal was reached, and the number of valid actions of every rollout sampled."""
    state: State = task.initial_state
    lengths: list[int] = []
    for _ in range(settings.links):
        if task.is_goal(state):
            return True, lengths
        [rollouts] = policy.rollouts(task, [state], settings.samples, rng)
        trajectories = [replay(task, state, rollout) for rollout in rollouts]
        lengths += [len(trajectory.steps) for trajectory in trajectories]
        longest = max(trajectories, key=lambda trajectory: (trajectory.reaches_goal, len(trajectory.steps)))
        if not longest.steps:
            return False, lengths
        state = longest.states[-1]
    return task.is_goal(state), lengths
