"""Best-of-N: sample whole plans from the start in batches until the budget ends, keep the shortest valid one.

Paper: Appendix "Baselines" (Best-of-N).
"""

import random
from math import inf

from oclgen.interfaces import Heuristic, Plan, Policy, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import Models
from oclgen.search.settings import BestOfNSettings


def best_of_n_search(
    task: Task,
    policy: Policy,
    heuristic: Heuristic | None,
    settings: BestOfNSettings,
    budget: Budget,
    rng: random.Random,
    counters: Counters,
) -> Search:
    """One batch per iteration; proves nothing unless the start is a goal. Needs no heuristic."""
    models = Models(task, policy, heuristic, budget, rng, counters)
    if task.is_goal(task.initial_state):
        yield ()
        return Ending.EXHAUSTED
    length: float = inf
    while not budget.exhausted(counters.iterations):
        best = min(sampled_plans(models, settings), key=len, default=None)
        counters.iterations += 1
        if best is not None and len(best) < length:
            length = len(best)
            yield best
    assert budget.ending is not None
    return budget.ending


def sampled_plans(models: Models, settings: BestOfNSettings) -> list[Plan]:
    """The plans among one batch of rollouts, or of chains of rollouts."""
    chains = models.chains(models.task.initial_state, settings.samples, settings.links)
    return [chain.actions for chain in chains if chain.reaches_goal]
