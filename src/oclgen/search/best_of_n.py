"""Best-of-N: sample whole plans from the initial state, batch after batch, and keep the shortest valid one.

Paper: Appendix "Baselines" (Best-of-N).
"""

import random
from dataclasses import dataclass
from math import inf

from oclgen.interfaces import Heuristic, Plan, Policy, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import SearchContext
from oclgen.search.settings import Settings, check_least


@dataclass(frozen=True, slots=True)
class BestOfNSettings(Settings):
    """Settings of Best-of-N sampling."""

    samples: int = 10
    """Plans sampled per batch; sampling goes on until the budget ends."""
    links: int = 1
    """Rollouts chained into one plan, each from the last state of the one before, encoded afresh. The paper uses 1;
    more (ours) suits a policy whose rollouts are shorter than plans."""

    def __post_init__(self) -> None:
        check_least("samples", self.samples, 1)
        check_least("links", self.links, 1)


def best_of_n_search(
    task: Task,
    policy: Policy,
    heuristic: Heuristic | None,
    settings: BestOfNSettings,
    budget: Budget,
    rng: random.Random,
    counters: Counters,
) -> Search:
    """One batch per iteration. Proves nothing, unless the initial state is a goal; needs no heuristic."""
    context = SearchContext(task, policy, heuristic, budget, rng, counters)
    if task.is_goal(task.initial_state):
        yield ()
        return Ending.EXHAUSTED
    length: float = inf
    while not budget.exhausted(counters.iterations):
        best = min(sample_plans(context, settings), key=len, default=None)
        counters.iterations += 1
        if best is not None and len(best) < length:
            length = len(best)
            yield best
    assert budget.ending is not None
    return budget.ending


def sample_plans(context: SearchContext, settings: BestOfNSettings) -> list[Plan]:
    """The rollouts of one batch that reach the goal."""
    rollouts = context.chained_rollouts(context.task.initial_state, settings.samples, settings.links)
    return [rollout.actions for rollout in rollouts if rollout.reaches_goal]
