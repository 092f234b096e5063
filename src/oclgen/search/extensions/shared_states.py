"""Several searches of one problem share states: now and then each sends the most promising of its new ones (ours).

A state travels as the actions that lead to it and the heuristic's value. The receiver replays the actions, so only
states and transitions of the task enter its graph, under the graph's own rules for shorter paths and reopening.
"""

from heapq import nsmallest

from oclgen.interfaces import Step, Task
from oclgen.search.context import replay
from oclgen.search.extensions.exchange import MOST_STATES, Exchange, SharedState
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.trajectories import HeuristicValue, HeuristicValues, add_trajectory, back_up

ITERATIONS = 10
"""Between two messages: the states of others cost a search about 5 % of its time, however many others there are."""
CANDIDATES = 8 * MOST_STATES
"""New nodes with the least f that are looked at; many are on one trajectory."""


class StateSharing:
    """One search's part in it, after each of its iterations."""

    def __init__(self, graph: SearchGraph, task: Task, exchange: Exchange) -> None:
        self._graph, self._task, self._exchange = graph, task, exchange
        self._iterations = 0
        self._seen = len(graph)

    def after_iteration(self) -> None:
        self._iterations += 1
        if self._iterations % ITERATIONS:
            return
        self._exchange.post_states(promising_states(self._graph, self._seen))
        for shared in self._exchange.take_states():
            add_shared_state(self._graph, self._task, shared)
        self._seen = len(self._graph)  # what came from others is not sent on


def promising_states(graph: SearchGraph, first: int) -> list[SharedState]:
    """Of the nodes from `first` on, those with the least f that are open, evaluated and not deeper than the best plan.

    A path shares all its states, so nodes on a path that was chosen are left out.
    """
    limit = graph.best_length
    nodes = [
        node
        for node in range(first, len(graph))
        if graph.is_open(node) and graph.is_evaluated(node) and (limit is None or graph.g(node) < limit)
    ]
    states: list[SharedState] = []
    shared: set[int] = set()
    for node in nsmallest(CANDIDATES, nodes, key=lambda node: (graph.g(node) + graph.h(node), -graph.g(node))):
        if node not in shared and len(states) < MOST_STATES:
            path = graph.path(node)
            shared.update(known for known, _ in path)
            states.append(SharedState(graph.h(node), tuple(action for _, action in path)))
    return states


def add_shared_state(graph: SearchGraph, task: Task, shared: SharedState) -> None:
    """Add the state of another search and those on the path to it; a path that cannot be replayed is dropped."""
    trajectory = replay(task, graph.state(ROOT), tuple(Step(action, 1.0) for action in shared.path))
    if len(trajectory.steps) < len(shared.path):
        return
    values: HeuristicValues = {trajectory.states[-1]: HeuristicValue(shared.h, evaluated=True)}
    back_up(graph, trajectory, values)
    add_trajectory(graph, trajectory, values)
