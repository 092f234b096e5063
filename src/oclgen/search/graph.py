"""The search graph: states, known transitions, shortest known paths, open and closed nodes.

All opening, closing and reopening happens here. A node is an integer and its fields are in parallel arrays (see also
`transitions.py` and `open_lists.py`). So a node costs bytes instead of objects, and gives the garbage collector nothing
to visit. At any moment

- g is the length of the shortest path over all known transitions, and following parents takes exactly g steps;
- a node is open (in exactly one list, that of its g) or closed (in none); goals are always closed;
- a closed node whose g decreases is reopened, unless it is a goal.

Paper: Section 4.1 (OCL framework) and 4.2 (one open list per depth).
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal

from oclgen.interfaces import Action, Plan, State
from oclgen.search.anytime import Counters
from oclgen.search.open_lists import OpenLists
from oclgen.search.transitions import NONE, Transitions

Order = Literal["depth", "f", "h"]
"""`depth`: one list per depth, ordered by h. `f`: one list ordered by g + h, then h. `h`: one list ordered by h."""

ROOT = 0
EXPANDED, GOAL, EVALUATED, REVIVED, SAMPLED = 1, 2, 4, 8, 16

FRACTION = 1 << 16  # priorities are integers: h in units of 1 / FRACTION
LARGEST = (1 << 15) - 1.0  # larger values of h count as this one


class SearchGraph:
    """Known nodes and transitions, with the shortest known path to each node."""

    def __init__(
        self, initial_state: State, is_goal: Callable[[State], bool], counters: Counters, order: Order = "depth"
    ) -> None:
        self.best_goal: int | None = None
        self.deepest = 0
        self._is_goal = is_goal
        self._counters = counters
        self._order: Order = order
        self._open = OpenLists()
        self._transitions = Transitions()
        self._ids: dict[State, int] = {}
        self._states: list[State] = []
        self._g = array("i")
        self._h = array("d")
        self._parent = array("i")
        self._via = array("i")  # label of the action from the parent
        self._flags = bytearray()
        self._population: list[int] = []  # nodes per depth
        self._closed_unexpanded: list[int] = []  # closed while some successors may be unknown
        self._new_node(initial_state, 0, NONE, NONE, 0.0, evaluated=False)

    # Reading.

    def __len__(self) -> int:
        return len(self._states)

    def find(self, state: State) -> int | None:
        return self._ids.get(state)

    def node(self, state: State) -> int:
        """The node of a known state."""
        return self._ids[state]

    def has_expanded(self, state: State) -> bool:
        node = self._ids.get(state)
        return node is not None and self.is_expanded(node)

    def has_sampled(self, state: State) -> bool:
        """Whether actions of the state were sampled and nothing has called for more: it has not been revived."""
        node = self._ids.get(state)
        return node is not None and self._flags[node] & (SAMPLED | REVIVED) == SAMPLED

    def state(self, node: int) -> State:
        return self._states[node]

    def g(self, node: int) -> int:
        return self._g[node]

    def h(self, node: int) -> float:
        return self._h[node]

    def is_open(self, node: int) -> bool:
        return node in self._open

    def is_goal(self, node: int) -> bool:
        return bool(self._flags[node] & GOAL)

    def is_expanded(self, node: int) -> bool:
        """Whether all successors are in the graph."""
        return bool(self._flags[node] & EXPANDED)

    def is_evaluated(self, node: int) -> bool:
        """Whether h is the heuristic's own value (or the node is a goal), not one backed up along a trajectory."""
        return bool(self._flags[node] & EVALUATED)

    def is_revived(self, node: int) -> bool:
        """Whether `revive` has opened the node again and it has not been expanded since."""
        return bool(self._flags[node] & REVIVED)

    def transitions(self, node: int) -> Iterator[tuple[int, Action]]:
        """The known successors of a node, each with the action that leads to it."""
        for label, target in self._transitions.outgoing(node):
            yield target, self._transitions.actions[label]

    @property
    def open_depths(self) -> list[int]:
        """The depths with open nodes, ascending (only 0 if one list holds all)."""
        return self._open.depths

    def open_nodes(self) -> list[tuple[int, int]]:
        """Every open node, as (list, node)."""
        return self._open.entries()

    @property
    def best_length(self) -> int | None:
        return None if self.best_goal is None else self._g[self.best_goal]

    def get_best_plan(self) -> Plan:
        """The shortest known plan."""
        return tuple(action for _, action in self.best_path())

    def best_path(self) -> list[tuple[int, Action]]:
        """The nodes of the shortest known plan, but the goal, each with the action taken there."""
        if self.best_goal is None:
            raise ValueError("no goal is known")
        return self.path(self.best_goal)

    def path(self, node: int) -> list[tuple[int, Action]]:
        """The shortest known path to a node: each node on it but the last, with the action taken there."""
        steps = []
        while node != ROOT:
            action = self._transitions.actions[self._via[node]]
            node = self._parent[node]
            steps.append((node, action))
        steps.reverse()
        return steps

    # Adding.

    def add(self, parent: int, action: Action, state: State, h: float, evaluated: bool) -> int:
        """Add the transition from `parent` by `action` to `state`; the node of `state`, which is open if it is new."""
        self._counters.generated += 1
        node = self._ids.get(state)
        if node is None:
            label = self._transitions.label(action)
            node = self._new_node(state, self._g[parent] + 1, parent, label, h, evaluated)
            self._transitions.add(parent, label, node)
            return node
        self.revalue(node, h, evaluated)
        self.connect(parent, action, node)
        return node

    def connect(self, parent: int, action: Action, node: int) -> None:
        """Add a transition between known nodes and update the paths it shortens."""
        if self._flags[parent] & EXPANDED or self._transitions.has_target(parent, node):
            return
        label = self._transitions.label(action)
        self._transitions.add(parent, label, node)
        if self._g[parent] + 1 < self._g[node]:
            self._shorten(node, parent, label)

    def revalue(self, node: int, h: float, evaluated: bool) -> None:
        """Replace h by a better value: the heuristic's own over any backed-up one, the least of backed-up ones."""
        flags = self._flags[node]
        if flags & EVALUATED or (not evaluated and h >= self._h[node]):
            return
        if evaluated:
            self._flags[node] = flags | EVALUATED
        if h != self._h[node]:
            self._h[node] = h
            if node in self._open:
                self._remove_open(node, self._g[node])
                self._open_node(node)

    # Opening and closing.

    def extract(self, depth: int, horizon: int | None = None) -> int | None:
        """Close and return the best node of an open list. Nodes at depth `horizon` or deeper are closed and skipped."""
        while not self._open.is_empty(depth):
            node = self._open.first(depth)
            self.close(node)
            if horizon is None or self._g[node] < horizon:
                return node
        return None

    def close(self, node: int) -> None:
        """Close an open node; `revive` can open it again until it is expanded."""
        self._remove_open(node, self._g[node])
        if not self._flags[node] & EXPANDED:
            self._closed_unexpanded.append(node)

    def close_expanded(self, node: int, complete: bool) -> None:
        """Close a node whose successors were added; `complete`: all of them. It is revived no longer."""
        self._counters.expanded += 1
        self._flags[node] = self._flags[node] & ~REVIVED | (EXPANDED if complete else SAMPLED)
        if node in self._open:
            self.close(node)

    def revive(self) -> int:
        """Open the closed nodes whose unknown successors may lead to a shorter plan; return how many.

        Called when the open lists are empty. If it opens none, all such nodes are expanded: the best plan is optimal,
        or there is none. Nodes too deep for a shorter plan are dropped; they reopen if their g decreases.
        """
        limit = None if self.best_goal is None else self._g[self.best_goal] - 1
        candidates, self._closed_unexpanded = self._closed_unexpanded, []
        revived = 0
        for node in candidates:
            settled = self._flags[node] & EXPANDED or node in self._open
            if not settled and (limit is None or self._g[node] < limit):
                self._flags[node] |= REVIVED
                self._open_node(node)
                revived += 1
        return revived

    # Internal.

    def _new_node(self, state: State, g: int, parent: int, label: int, h: float, evaluated: bool) -> int:
        node = len(self._states)
        self._ids[state] = node
        self._states.append(state)
        self._g.append(g)
        self._parent.append(parent)
        self._via.append(label)
        self._open.add_node()
        self._transitions.add_node()
        self._count_depth(g)
        if self._is_goal(state):
            self._h.append(0.0)
            self._flags.append(GOAL | EVALUATED)
            self._update_best_goal(node)
        else:
            self._h.append(h)
            self._flags.append(EVALUATED if evaluated else 0)
            self._open_node(node)
        return node

    def _count_depth(self, g: int) -> None:
        if g == len(self._population):
            self._population.append(0)
        self._population[g] += 1
        self.deepest = max(self.deepest, g)

    def _update_best_goal(self, node: int) -> None:
        if self.best_goal is None or self._g[node] < self._g[self.best_goal]:
            self.best_goal = node

    def _shorten(self, node: int, parent: int, label: int) -> None:
        """Give a node a shorter path and pass the gain on to its descendants.

        Breadth first over unit costs, so each node gets its final g at once.
        """
        self._lower_g(node, parent, label)
        queue = deque([node])
        while queue:
            source = queue.popleft()
            for label, target in self._transitions.outgoing(source):
                if self._g[source] + 1 < self._g[target]:
                    self._lower_g(target, source, label)
                    queue.append(target)
        while not self._population[self.deepest]:
            self.deepest -= 1

    def _lower_g(self, node: int, parent: int, label: int) -> None:
        old, new = self._g[node], self._g[parent] + 1
        self._population[old] -= 1
        self._population[new] += 1
        self._g[node] = new
        self._parent[node] = parent
        self._via[node] = label
        if self._flags[node] & GOAL:
            self._update_best_goal(node)
            return
        if node in self._open:
            self._remove_open(node, old)
        else:
            self._counters.reopened += 1
        self._open_node(node)

    def _open_node(self, node: int) -> None:
        """Put a node into the open list of its depth."""
        g = self._g[node]
        h = int(min(max(self._h[node], 0.0), LARGEST) * FRACTION)
        if self._order == "depth":
            self._open.push(g, h, node)
        else:
            self._open.push(0, h if self._order == "h" else (g * FRACTION + h) << 32 | h, node)

    def _remove_open(self, node: int, g: int) -> None:
        """Take a node out of the open list of depth `g`."""
        self._open.remove(g if self._order == "depth" else 0, node)
