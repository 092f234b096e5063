"""Run a search by name on toy models."""

import random

from oclgen.interfaces import Heuristic, Policy, Task
from oclgen.search import METHODS
from oclgen.search.anytime import Budget, Counters, SearchResult, run
from oclgen.search.settings import Settings


def solve(
    task: Task,
    policy: Policy | None,
    heuristic: Heuristic | None,
    settings: Settings | None = None,
    *,
    method: str = "oclgen",
    iterations: int = 200,
    seed: int = 0,
    budget: Budget | None = None,
    **more: object,
) -> SearchResult:
    """`more` goes to the search."""
    chosen = METHODS[method]
    budget = budget or Budget(iterations=iterations)
    counters = Counters()
    rng = random.Random(seed)
    search = chosen.search(task, policy, heuristic, settings or chosen.settings, budget, rng, counters, **more)
    return run(search, budget, counters)
