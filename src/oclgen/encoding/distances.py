"""How many steps lie between two objects: roads between places, neighbouring cells, `next` among numbers.

Two objects of one type are neighbours where a static atom mentions both. The number of steps between them, cut at
`FAR`, biases a relational model's attention.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from oclgen.interfaces import Atom

FAR = 32
"""The distance of objects without a path between them, of objects of different types, and of all further apart."""


def linked(objects: Mapping[str, str], static_atoms: Iterable[Atom]) -> set[tuple[int, int]]:
    """Pairs of neighbours, the smaller index first."""
    rows = {name: index for index, name in enumerate(objects)}
    pairs: set[tuple[int, int]] = set()
    for atom in static_atoms:
        for one, other in combinations(dict.fromkeys(atom[1:]), 2):
            if objects[one] == objects[other]:
                pairs.add((min(rows[one], rows[other]), max(rows[one], rows[other])))
    return pairs


def distances(objects: Mapping[str, str], static_atoms: Iterable[Atom]) -> NDArray[np.int8]:
    """[rows, rows] with the global row last."""
    size = len(objects) + 1
    found = np.full((size, size), FAR, np.int8)
    np.fill_diagonal(found, 0)
    pairs = linked(objects, static_atoms)
    if pairs:
        members = np.unique(np.array(sorted(pairs)))
        found[np.ix_(members, members)] = breadth_first(members, pairs)
    return found


def breadth_first(members: NDArray[np.int64], pairs: set[tuple[int, int]]) -> NDArray[np.int8]:
    """Distances among the rows that have neighbours, from all of them at once."""
    neighbours = neighbour_table(members, pairs)
    size = len(members)
    steps = np.full((size, size), FAR, np.int8)
    np.fill_diagonal(steps, 0)
    ring = np.zeros((size + 1, size), bool)  # the last row stays empty: it pads the table of neighbours
    np.fill_diagonal(ring, True)
    reached = ring[:size].copy()
    for step in range(1, FAR):
        following = np.zeros((size, size), bool)
        for column in neighbours.T:
            following |= ring[column]
        following &= ~reached
        if not following.any():
            break
        steps[following] = step
        reached |= following
        ring[:size] = following
    return steps


def neighbour_table(members: NDArray[np.int64], pairs: set[tuple[int, int]]) -> NDArray[np.int64]:
    """[members, most neighbours], filled up with the number of members."""
    ends = np.searchsorted(members, np.array(sorted(pairs)))
    both = np.concatenate([ends, ends[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    count = np.bincount(both[:, 0], minlength=len(members))
    place = np.arange(len(both)) - (np.cumsum(count) - count)[both[:, 0]]
    table = np.full((len(members), int(count.max())), len(members))
    table[both[:, 0], place] = both[:, 1]
    return table
