"""Best-of-N: sample whole plans from the initial state, batch after batch, and keep the shortest valid one.

Paper: Appendix "Baselines" (Best-of-N).
"""

import random
from dataclasses import dataclass

from oclgen.interfaces import Heuristic, Policy, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import SearchContext, Trajectory
from oclgen.search.extensions.chained_rollouts import chained_rollouts
from oclgen.search.incumbent import SampledIncumbent
from oclgen.search.settings import RolloutHelps, check_least


@dataclass(frozen=True, slots=True)
class BestOfNSettings(RolloutHelps):
    """Settings of Best-of-N sampling."""

    samples: int = 10
    """Plans sampled per batch; sampling goes on until the budget ends."""

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
    """One batch per iteration. Proves nothing, unless no plan can be shorter by its length; needs no heuristic."""
    context = SearchContext(task, policy, heuristic, budget, rng, counters)
    if task.is_goal(task.initial_state):
        yield ()
        return Ending.EXHAUSTED
    start = Trajectory((task.initial_state,), (), reaches_goal=False)
    incumbent = SampledIncumbent(context, settings)
    while not budget.exhausted(counters.iterations):
        if incumbent.limit == 0:
            return Ending.EXHAUSTED
        rollouts = chained_rollouts(
            context, task.initial_state, settings.samples, settings.links, max_actions=incumbent.limit
        )
        counters.iterations += 1
        yield from incumbent.improvements(start, rollouts)
        incumbent.change_decoding(rollouts)
    assert budget.ending is not None
    return budget.ending
