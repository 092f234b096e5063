import random

import pytest

from oclgen.domains import catalog
from oclgen.domains.logistics import generator
from tests.domains.reading import Parts, fits, parts


def problems(count: int, **parameters: int) -> list[Parts]:
    return [parts(generator.generate(random.Random(seed), **parameters)) for seed in range(count)]


@pytest.mark.parametrize(("key", "high"), [("cities", 50), ("city_size", 5), ("packages", 50), ("airplanes", 10)])
def test_parameters_are_uniform_over_the_papers_ranges(key: str, high: int) -> None:
    spec = catalog.load("logistics")
    rng = random.Random(1)
    values = (catalog.sample_parameters(spec, rng)[key] for _ in range(5000))
    assert fits(values, dict.fromkeys(range(1, high + 1), 1.0))


def place(atoms: list[tuple[str, ...]], name: str) -> str:
    return next(atom[2] for atom in atoms if atom[:2] == ("at", name))


@pytest.mark.parametrize("package", ["p0", "p3"])
def test_packages_start_and_end_anywhere(package: str) -> None:
    drawn = problems(2400, cities=4, city_size=3, packages=4, airplanes=1)
    places = {f"l{city}-{index}": 1.0 for city in range(4) for index in range(3)}
    assert fits((place(problem.init, package) for problem in drawn), places)
    assert fits((place(problem.goal, package) for problem in drawn), places)


def test_each_truck_starts_anywhere_in_its_own_city_and_airplanes_at_any_airport() -> None:
    drawn = problems(1200, cities=3, city_size=4, packages=1, airplanes=2)
    for city in range(3):
        assert fits(
            (place(problem.init, f"t{city}") for problem in drawn), {f"l{city}-{index}": 1.0 for index in range(4)}
        )
    for airplane in range(2):
        assert fits(
            (place(problem.init, f"a{airplane}") for problem in drawn), {f"l{city}-0": 1.0 for city in range(3)}
        )


def test_objects_are_typed_and_no_unary_type_facts_remain() -> None:
    problem = problems(1, cities=3, city_size=2, packages=2, airplanes=2)[0]
    assert problem.domain == "logistics"
    assert problem.objects == {
        "airplane": ["a0", "a1"],
        "city": ["c0", "c1", "c2"],
        "truck": ["t0", "t1", "t2"],
        "airport": ["l0-0", "l1-0", "l2-0"],
        "location": ["l0-1", "l1-1", "l2-1"],
        "package": ["p0", "p1"],
    }
    assert problem.init[:6] == [("in-city", f"l{i}-{j}", f"c{i}") for i in range(3) for j in range(2)]
    assert [atom[:2] for atom in problem.init[6:]] == [("at", x) for x in ("t0", "t1", "t2", "p0", "p1", "a0", "a1")]
    assert [atom[:2] for atom in problem.goal] == [("at", "p0"), ("at", "p1")]


def test_a_type_without_members_is_left_out() -> None:
    problem = problems(1, cities=2, city_size=1, packages=1, airplanes=1)[0]
    assert "location" not in problem.objects


def test_parameters_that_could_make_a_problem_unsolvable_are_refused() -> None:
    assert generator.refusal(cities=2, city_size=1, packages=1, airplanes=0) is not None
    assert generator.refusal(cities=1, city_size=1, packages=1, airplanes=0) is None
    assert generator.refusal(cities=1, city_size=0, packages=1, airplanes=1) is not None
