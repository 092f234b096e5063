"""Steps between objects against a plain breadth-first search."""

import random
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oclgen.encoding.distances import FAR, distances, linked
from oclgen.interfaces import Atom


def plain(objects: dict[str, str], atoms: set[Atom]) -> list[list[int]]:
    """From every object through its neighbours; the global row is next to nothing."""
    names = list(objects)
    near: dict[str, set[str]] = {name: set() for name in names}
    for atom in atoms:
        for one in atom[1:]:
            near[one] |= {other for other in atom[1:] if objects[other] == objects[one] and other != one}
    table = [[FAR] * (len(names) + 1) for _ in range(len(names) + 1)]
    table[-1][-1] = 0
    for row, start in enumerate(names):
        steps, queue = {start: 0}, deque([start])
        while queue:
            name = queue.popleft()
            for other in near[name] - steps.keys():
                steps[other] = steps[name] + 1
                queue.append(other)
        for name, count in steps.items():
            table[row][names.index(name)] = min(count, FAR)
    return table


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 50), st.integers(0, 80))
def test_distances_are_those_of_a_plain_search(seed: int, size: int, links: int) -> None:
    rng = random.Random(seed)
    objects = {f"o{i}": rng.choice("aab") for i in range(size)}
    atoms: set[Atom] = {("p", *rng.choices(list(objects), k=rng.randint(0, 4))) for _ in range(links)}
    assert distances(objects, atoms).tolist() == plain(objects, atoms)


@pytest.mark.parametrize("length", [FAR, FAR + 1, FAR + 2, 2 * FAR])
def test_a_long_road_is_cut_off(length: int) -> None:
    objects = {f"o{i}": "place" for i in range(length)}
    road: set[Atom] = {("next", f"o{i}", f"o{i + 1}") for i in range(length - 1)}
    expected = [min(i, FAR) for i in range(length)] + [FAR]
    assert distances(objects, road)[0].tolist() == expected


def test_atoms_join_objects_of_one_type_only_and_none_with_itself() -> None:
    objects = {"a": "place", "b": "place", "truck": "vehicle"}
    atoms: set[Atom] = {("road", "b", "a", "b"), ("owns", "truck", "b"), ("loop", "truck", "truck"), ("flag",)}
    assert linked(objects, atoms) == {(0, 1)}


def test_without_objects_the_global_row_is_alone() -> None:
    assert np.array_equal(distances({}, []), [[0]])
