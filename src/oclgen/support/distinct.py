"""A stream without repetitions, drawn until nothing new comes for long."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

PATIENCE = 1000
PATIENCE_PER_ITEM = 20
MOST_ITEMS = 10_000

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def distinct(items: Iterable[Item], key: Callable[[Item], Key], seen: Iterable[Key] = ()) -> Iterator[tuple[Item, Key]]:
    """Items whose key is neither in `seen` nor that of an earlier item, each with its key.

    The stream ends where its source does, or where a class is exhausted. A class of n equally likely items gives up its
    last one after n draws on average, and 20 n draws miss it once in 10^8 times; for classes beyond 10,000 patience
    ends earlier, with one or two items unseen.
    """
    known = set(seen)
    in_vain = 0
    for item in items:
        in_vain += 1
        found = key(item)
        if found not in known:
            known.add(found)
            in_vain = 0
            yield item, found
        elif in_vain >= PATIENCE + PATIENCE_PER_ITEM * min(len(known), MOST_ITEMS):
            return
