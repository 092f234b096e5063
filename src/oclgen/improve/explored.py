"""What a search graph knows beside its best plan: cost-to-go, other shortest plans, plans from other states.

Every node from which some goal is known to be reachable has a shortest known way there. Walking down these costs with
ties broken at random gives different plans of the same length; starting at another node gives a plan for its state.
"""

import random
from collections import deque
from collections.abc import Iterator

from oclgen.interfaces import Action, Plan
from oclgen.search.graph import ROOT, SearchGraph

UNKNOWN = -1
TRIES = 4
"""Random walks for each further plan that is asked for; there may be no other."""


class Explored:
    """A graph whose search has ended."""

    def __init__(self, graph: SearchGraph) -> None:
        self.graph = graph
        self.costs = costs_to_go(graph)

    def plan(self, node: int, rng: random.Random) -> Plan:
        """One of the shortest known plans from a node to a goal."""
        actions: list[Action] = []
        while self.costs[node]:
            node, action = rng.choice(list(self._downward(node)))
            actions.append(action)
        return tuple(actions)

    def _downward(self, node: int) -> Iterator[tuple[int, Action]]:
        nearer = self.costs[node] - 1
        return ((target, action) for target, action in self.graph.transitions(node) if self.costs[target] == nearer)

    def other_plans(self, plan: Plan, count: int, rng: random.Random) -> list[Plan]:
        """Up to `count` distinct plans as short as `plan`, the best one."""
        found = {plan: None}
        for _ in range(TRIES * count):
            if len(found) > count:
                break
            found[self.plan(ROOT, rng)] = None
        return list(found)[1:]

    def other_nodes(self, count: int, slack: int, rng: random.Random) -> list[int]:
        """Up to `count` nodes off the best plan through which a plan at most `slack` longer than it is known."""
        graph = self.graph
        limit = self.costs[ROOT] + slack
        on_plan = {node for node, _ in graph.best_path()}
        near = [
            node
            for node, cost in enumerate(self.costs)
            if cost > 0 and graph.g(node) + cost <= limit and node not in on_plan
        ]
        return rng.sample(near, min(count, len(near)))

    def stuck_nodes(self, count: int, rng: random.Random) -> list[int]:
        """Up to `count` nodes without known successors and without a known way to a goal, of the quarter of them that
        looks nearest to it."""
        graph = self.graph
        stuck = [node for node, cost in enumerate(self.costs) if cost == UNKNOWN and is_leaf(graph, node)]
        stuck.sort(key=graph.h)
        nearest = stuck[: max(count, len(stuck) // 4)]
        return rng.sample(nearest, min(count, len(nearest)))


def is_leaf(graph: SearchGraph, node: int) -> bool:
    return next(graph.transitions(node), None) is None


def costs_to_go(graph: SearchGraph) -> list[int]:
    """For each node the length of the shortest way to a goal over known transitions: breadth first, backwards."""
    sources: list[list[int]] = [[] for _ in range(len(graph))]
    for node in range(len(graph)):
        for target, _ in graph.transitions(node):
            sources[target].append(node)
    costs = [0 if graph.is_goal(node) else UNKNOWN for node in range(len(graph))]
    queue = deque(node for node, cost in enumerate(costs) if cost == 0)
    while queue:
        target = queue.popleft()
        for node in sources[target]:
            if costs[node] == UNKNOWN:
                costs[node] = costs[target] + 1
                queue.append(node)
    return costs
