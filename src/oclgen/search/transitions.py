"""Known transitions between nodes, in linked lists over flat arrays: twelve bytes each, no object per node."""

from array import array
from collections.abc import Iterator

from oclgen.interfaces import Action

NONE = -1


class Transitions:
    """For each node its recorded outgoing transitions; actions are numbered as they first come up."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self._labels: dict[Action, int] = {}
        self._first = array("i")  # per node: its newest transition
        self._next = array("i")  # per transition: the one before it from the same node
        self._target = array("i")
        self._label = array("i")
        self._known: tuple[int, set[int]] = (NONE, set())  # the node last asked about and its targets

    def add_node(self) -> None:
        self._first.append(NONE)

    def label(self, action: Action) -> int:
        """The number of an action."""
        label = self._labels.setdefault(action, len(self.actions))
        if label == len(self.actions):
            self.actions.append(action)
        return label

    def add(self, source: int, label: int, target: int) -> None:
        self._next.append(self._first[source])
        self._first[source] = len(self._target)
        self._target.append(target)
        self._label.append(label)
        if source == self._known[0]:
            self._known[1].add(target)

    def of(self, source: int) -> Iterator[tuple[int, int]]:
        """(label, target) of each transition from a node."""
        edge = self._first[source]
        while edge != NONE:
            yield self._label[edge], self._target[edge]
            edge = self._next[edge]

    def known(self, source: int, target: int) -> bool:
        """Whether some transition leads from one node to the other.

        The targets of the last source are remembered, since successors of one node come in a row.
        """
        if source != self._known[0]:
            self._known = (source, {target for _, target in self.of(source)})
        return target in self._known[1]
