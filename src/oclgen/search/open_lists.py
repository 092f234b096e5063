"""Open lists: one heap of nodes per depth (or just one), with deletion anywhere and cost that does not grow.

An entry is one integer, (priority, serial, node) from high bits to low: a third of the memory of a tuple, faster to
compare, and nothing for the garbage collector to walk. Entries are deleted lazily: one is live while its serial is
the one its node holds. Equal priorities leave in order of arrival.
"""

from array import array
from bisect import bisect_left, insort
from heapq import heapify, heappop, heappush

LOW = (1 << 32) - 1
SLACK = 64  # dead entries that a heap may hold beyond as many as it has live ones


class OpenLists:
    """Which nodes are open, in lists 0, 1, 2, ...; `depths` names the lists that are not empty, ascending."""

    def __init__(self) -> None:
        self.depths: list[int] = []
        self._heaps: list[list[int]] = []
        self._live: list[int] = []  # live entries per heap
        self._serial = array("I")  # per node: its live entry's; 0 = not open
        self._last_serial = 0

    def add_node(self) -> None:
        """Make room for the next node, not open yet."""
        self._serial.append(0)

    def __contains__(self, node: int) -> bool:
        return self._serial[node] != 0

    def push(self, depth: int, priority: int, node: int) -> None:
        while depth >= len(self._heaps):
            self._heaps.append([])
            self._live.append(0)
        self._last_serial = serial = self._last_serial + 1
        self._serial[node] = serial
        heappush(self._heaps[depth], priority << 64 | serial << 32 | node)
        if not self._live[depth]:
            insort(self.depths, depth)
        self._live[depth] += 1

    def remove(self, depth: int, node: int) -> None:
        """Take a node out of the list it is in."""
        self._serial[node] = 0
        self._live[depth] -= 1
        heap, live = self._heaps[depth], self._live[depth]
        if not live:
            heap.clear()
            del self.depths[bisect_left(self.depths, depth)]
        elif len(heap) > 2 * live + SLACK:
            heap[:] = [entry for entry in heap if self._is_live(entry)]
            heapify(heap)

    def is_empty(self, depth: int) -> bool:
        return depth >= len(self._live) or not self._live[depth]

    def first(self, depth: int) -> int:
        """The node of least priority in a list that is not empty."""
        heap = self._heaps[depth]
        while not self._is_live(heap[0]):
            heappop(heap)
        return heap[0] & LOW

    def entries(self) -> list[tuple[int, int]]:
        """All (depth, node) pairs that are open."""
        return [
            (depth, entry & LOW) for depth, heap in enumerate(self._heaps) for entry in heap if self._is_live(entry)
        ]

    def _is_live(self, entry: int) -> bool:
        return self._serial[entry & LOW] == entry >> 32 & LOW
