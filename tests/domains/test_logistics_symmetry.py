import random

import pytest

from oclgen.domains import catalog
from oclgen.domains.logistics import generator
from oclgen.errors import InputError
from tests.domains.reading import Atom, Parts, parts

SIZES = {"cities": 4, "city_size": 3, "packages": 3, "airplanes": 2}


def renamed(seed: int) -> tuple[Parts, dict[str, str]]:
    problem = parts(generator.generate(random.Random(seed), **SIZES))
    mentioned = {name for atom in (*problem.init, *problem.goal) if atom[0] == "at" for name in atom[1:]}
    return problem, dict(catalog.load("logistics").symmetry(mentioned, random.Random(seed)))


def apply(renaming: dict[str, str], atom: Atom) -> Atom:
    return atom[0], *(renaming.get(name, name) for name in atom[1:])


@pytest.mark.parametrize("seed", range(20))
def test_a_renamed_problem_has_the_same_objects_and_the_same_map(seed: int) -> None:
    problem, renaming = renamed(seed)
    assert sorted(renaming) == sorted(renaming.values())
    for members in problem.objects.values():
        assert {renaming.get(name, name) for name in members} == set(members)
    places = [("in-city", *pair) for pair in problem.args("in-city")]
    assert {apply(renaming, place) for place in places} == set(places)


def test_truck_i_stays_in_city_i_and_every_city_can_go_anywhere() -> None:
    found = [renamed(seed)[1] for seed in range(60)]
    assert all(each[f"t{i}"][1:] == each[f"c{i}"][1:] for each in found for i in range(4))
    assert {each["c0"] for each in found} == {f"c{i}" for i in range(4)}
    assert {each["l0-2"][-1] for each in found} == {"1", "2"}
    assert {each["p0"] for each in found} == {"p0", "p1", "p2"}


def test_a_domain_without_known_symmetries_says_so() -> None:
    with pytest.raises(InputError, match=r"sokoban.symmetry.py: missing"):
        _ = catalog.load("sokoban").symmetry
