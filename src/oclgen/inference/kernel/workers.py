"""Spreads calls of the kernel over a few threads: calls release the interpreter lock, so they run at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """A pool of `threads` threads, the calling one among them; with one thread there is no pool."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads - 1, "engine") if threads > 1 else None

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results in the order of the items. Each thread takes the next item when it is free; the calling one
        never waits for a thread that has not begun."""
        if self._pool is None or len(items) < 2:
            return [work(item) for item in items]
        results: dict[int, Result] = {}
        remaining = iter(range(len(items)))

        def take() -> None:
            for i in remaining:
                results[i] = work(items[i])

        others = [self._pool.submit(take) for _ in range(min(self.threads, len(items)) - 1)]
        try:
            take()
        finally:
            begun = [other for other in others if not other.cancel()]
            for other in begun:
                other.result()
        return [results[i] for i in range(len(items))]

    def split(self, count: int, least: int) -> list[slice]:
        """Equal portions for the threads, of at least so many items unless there are fewer in all."""
        parts = max(1, min(self.threads, count // least))
        bounds = [count * part // parts for part in range(parts + 1)]
        return [slice(first, last) for first, last in pairwise(bounds)]
