"""Spreads calls of the kernel over a few threads: calls release the interpreter lock, so they run at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """A pool of `threads` threads, this one among them; with one thread there is no pool."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads - 1, "engine") if threads > 1 else None

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results in the order of the items; the last item is done by the calling thread."""
        if self._pool is None or len(items) < 2:
            return [work(item) for item in items]
        others = [self._pool.submit(work, item) for item in items[:-1]]
        last = work(items[-1])
        return [*(other.result() for other in others), last]

    def split(self, count: int, least: int) -> list[slice]:
        """Equal portions for the threads, of at least so many items unless there are fewer in all."""
        parts = max(1, min(self.threads, count // least))
        bounds = [count * part // parts for part in range(parts + 1)]
        return [slice(first, last) for first, last in pairwise(bounds)]
