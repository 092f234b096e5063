"""Anytime best-first search with the learned heuristic: A* and greedy search are one function with two priorities.

The search does not stop at a goal. It goes on until the budget ends or no open node can lead to a shorter plan. When a
shorter path to a closed node is found, the graph updates all known descendants at once. A reopened node that was
expanded before therefore has no successors left to generate.

Paper: Appendix "Baselines" (Anytime A*, Greedy Best-First Search).
"""

import random
from dataclasses import dataclass
from typing import Literal, get_args

from oclgen.interfaces import Heuristic, Policy, State, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import SearchContext
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.incumbent import Incumbent
from oclgen.search.settings import Helps, check_choice
from oclgen.search.trajectories import HeuristicValue, add_trajectory, back_up, close_forced_states

Priority = Literal["astar", "gbfs"]


@dataclass(frozen=True, slots=True)
class BestFirstSettings(Helps):
    """Settings of anytime best-first search."""

    priority: Priority = "astar"
    """`astar` orders by f = g + h, `gbfs` by h."""
    pass_through: bool = False
    """As for OCLGen (ours)."""

    def __post_init__(self) -> None:
        check_choice("priority", self.priority, get_args(Priority))


def best_first_search(
    task: Task,
    policy: Policy | None,
    heuristic: Heuristic,
    settings: BestFirstSettings,
    budget: Budget,
    rng: random.Random,
    counters: Counters,
) -> Search:
    """Expand one node per iteration: the least f = g + h first (`astar`) or the least h (`gbfs`). Needs no policy."""
    context = SearchContext(task, policy, heuristic, budget, rng, counters)
    graph = SearchGraph(task.initial_state, task.is_goal, counters, "f" if settings.priority == "astar" else "h")
    if graph.is_goal(ROOT):
        yield ()
        return Ending.EXHAUSTED
    incumbent = Incumbent(graph, context, settings)
    while not budget.exhausted(counters.iterations):
        node = graph.extract(0, horizon=None if incumbent.length is None else incumbent.length - 1)
        if node is None:
            return Ending.EXHAUSTED
        if not graph.is_expanded(node):
            expand(graph, context, node, settings.pass_through)
            counters.iterations += 1
        yield from incumbent.improvements()
    assert budget.ending is not None
    return budget.ending


def expand(graph: SearchGraph, context: SearchContext, node: int, pass_through: bool) -> None:
    """Add all trajectories out of a node. The heuristic evaluates the last state of each, unless it has before."""
    outgoing = context.outgoing(graph.state(node), pass_through)
    last_states = [trajectory.states[-1] for trajectory in outgoing]
    estimates = context.estimate(state for state in last_states if needs_estimate(graph, state))
    values = {state: HeuristicValue(h, evaluated=True) for state, h in estimates.items()}
    for trajectory in outgoing:
        back_up(graph, trajectory, values)
        add_trajectory(graph, trajectory, values)
    graph.close_expanded(node, complete=True)
    if pass_through:
        for trajectory in outgoing:
            close_forced_states(graph, context.task, trajectory)


def needs_estimate(graph: SearchGraph, state: State) -> bool:
    """Whether a state is new, or is open with a value that elimination has backed up from a plan."""
    node = graph.find(state)
    return node is None or (graph.is_open(node) and not graph.is_evaluated(node))
