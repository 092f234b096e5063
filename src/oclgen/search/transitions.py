"""Known transitions between nodes, as linked lists over flat arrays: twelve bytes each, no object per node."""

from array import array
from collections.abc import Iterator

from oclgen.interfaces import Action

NONE = -1


class Transitions:
    """The known outgoing transitions of each node. An action is stored once and known by its number, the label."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self._labels: dict[Action, int] = {}
        self._first = array("i")  # per node: its newest transition
        self._next = array("i")  # per transition: the next older one of the same node
        self._target = array("i")
        self._label = array("i")
        self._recent_source = NONE
        self._recent_targets: set[int] = set()

    def add_node(self) -> None:
        self._first.append(NONE)

    def label(self, action: Action) -> int:
        """The number of an action; a new action gets the next free one."""
        label = self._labels.setdefault(action, len(self.actions))
        if label == len(self.actions):
            self.actions.append(action)
        return label

    def add(self, source: int, label: int, target: int) -> None:
        self._next.append(self._first[source])
        self._first[source] = len(self._target)
        self._target.append(target)
        self._label.append(label)
        if source == self._recent_source:
            self._recent_targets.add(target)

    def outgoing(self, source: int) -> Iterator[tuple[int, int]]:
        """(label, target) of each known transition from a node, newest first."""
        transition = self._first[source]
        while transition != NONE:
            yield self._label[transition], self._target[transition]
            transition = self._next[transition]

    def has_target(self, source: int, target: int) -> bool:
        """Whether a known transition leads from `source` to `target`.

        The targets of the most recent source are kept as a set, because successors of one node are added in a row.
        """
        if source != self._recent_source:
            self._recent_source = source
            self._recent_targets = {target for _, target in self.outgoing(source)}
        return target in self._recent_targets
