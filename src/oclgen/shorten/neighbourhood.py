"""Plan neighbourhood graph search: expand the states around a plan; the graph keeps the shortest path through them.

H. Nakhost and M. Mueller, "Action Elimination and Plan Neighborhood Graph Search", ICAPS 2010.
"""

from collections import deque
from collections.abc import Generator

from oclgen.interfaces import Task
from oclgen.search.anytime import Budget
from oclgen.search.graph import SearchGraph


def explore(graph: SearchGraph, task: Task, budget: Budget, limit: int) -> Generator[None, None, bool]:
    """Expand up to `limit` states, breadth first from those of the best plan; hand over after each.

    Returns whether nothing is left to expand: then no plan is shorter than the best one.
    """
    queue = deque(node for node, _ in graph.best_path())
    seen = set(queue)
    while queue:
        node = queue.popleft()
        if too_deep(graph, node):
            continue
        if not graph.is_expanded(node):
            if limit == 0 or budget.exhausted():
                return False
            limit -= 1
            expand(graph, task, node)
            yield
        reached = {target for target, _ in graph.transitions(node) if not graph.is_goal(target)} - seen
        seen |= reached
        queue.extend(sorted(reached))
    return all(graph.is_expanded(node) or too_deep(graph, node) for node in seen)


def too_deep(graph: SearchGraph, node: int) -> bool:
    """Whether no plan shorter than the best one leads through a node."""
    return graph.best_length is not None and graph.g(node) >= graph.best_length - 1


def expand(graph: SearchGraph, task: Task, node: int) -> None:
    state = graph.state(node)
    for action in task.applicable(state):
        graph.add(node, action, task.apply(state, action), 0.0, evaluated=False)
    graph.close_expanded(node, complete=True)
