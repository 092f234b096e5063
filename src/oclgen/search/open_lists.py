"""Open lists: one heap of nodes per depth (or only one), with removal of any node.

An entry is one integer with the bits of (priority, serial, node), highest first. It takes a third of the memory of a
tuple, compares faster and gives the garbage collector nothing to visit. Removal is lazy: an entry is live while its
node holds its serial. Among equal priorities the first pushed comes first.
"""

from array import array
from bisect import bisect_left, insort
from heapq import heapify, heappop, heappush

LOW = (1 << 32) - 1
SLACK = 64  # a heap is rebuilt when its dead entries outnumber its live ones by more than this


class OpenLists:
    """The open nodes, in lists 0, 1, 2, ...; `depths` has the numbers of the lists that are not empty, ascending."""

    def __init__(self) -> None:
        self.depths: list[int] = []
        self._heaps: list[list[int]] = []
        self._live: list[int] = []  # live entries per heap
        self._serial = array("I")  # per node: the serial of its live entry, 0 if not open
        self._last_serial = 0

    def add_node(self) -> None:
        """Register the next node, not open yet."""
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
        """Remove a node from its list."""
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
        """The node with the least priority in a list that is not empty."""
        heap = self._heaps[depth]
        while not self._is_live(heap[0]):
            heappop(heap)
        return heap[0] & LOW

    def entries(self) -> list[tuple[int, int]]:
        """Every open node, as (depth, node)."""
        return [
            (depth, entry & LOW) for depth, heap in enumerate(self._heaps) for entry in heap if self._is_live(entry)
        ]

    def _is_live(self, entry: int) -> bool:
        return self._serial[entry & LOW] == entry >> 32 & LOW
