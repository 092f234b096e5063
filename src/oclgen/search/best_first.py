"""Anytime best-first search with the learned heuristic: A* and greedy search are one function, two priorities.

The search does not stop at a goal: it goes on until the budget ends or no node can lead to a shorter plan. When a
shorter path to a closed node turns up, the graph passes the gain on to all known descendants at once, so a reopened
node that has been expanded has nothing left to generate.

Paper: Appendix "Baselines" (Anytime A*, Greedy Best-First Search).
"""

import random

from oclgen.interfaces import Heuristic, Policy, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import Models
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.settings import BestFirstSettings
from oclgen.search.trajectories import Estimate, add_course, back_up, close_forced


def best_first_search(
    task: Task,
    policy: Policy | None,
    heuristic: Heuristic,
    settings: BestFirstSettings,
    budget: Budget,
    rng: random.Random,
    counters: Counters,
) -> Search:
    """Expand the node of least f = g + h (`astar`) or least h (`gbfs`), on and on; needs no policy."""
    models = Models(task, policy, heuristic, budget, rng, counters)
    graph = SearchGraph(task.initial_state, task.is_goal, counters, "f" if settings.priority == "astar" else "h")
    if graph.is_goal(ROOT):
        yield ()
        return Ending.EXHAUSTED
    length: int | None = None
    while not budget.exhausted(counters.iterations):
        node = graph.extract(0, horizon=None if length is None else length - 1)
        if node is None:
            return Ending.EXHAUSTED
        if not graph.is_expanded(node):
            expand(graph, models, node, settings.pass_through)
            counters.iterations += 1
        if graph.best_length is not None and (length is None or graph.best_length < length):
            length = graph.best_length
            yield graph.get_best_plan()
    assert budget.ending is not None
    return budget.ending


def expand(graph: SearchGraph, models: Models, node: int, passing: bool) -> None:
    """Add all ways out of a node, with the heuristic's values of where they lead that is new."""
    ways = models.ways(graph.state(node), passing)
    values = models.estimate(way.states[-1] for way in ways if graph.find(way.states[-1]) is None)
    estimates = {state: Estimate(h, evaluated=True) for state, h in values.items()}
    for way in ways:
        back_up(graph, way, estimates)
        add_course(graph, way, estimates)
    graph.close_expanded(node, complete=True)
    if passing:
        for way in ways:
            close_forced(graph, models.task, way)
