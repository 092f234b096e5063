"""Places drawn uniformly and independently: a truck inside each city, packages, destinations, airplanes at airports.

Location 0 of each city is its airport; city i holds the locations `li-0`, `li-1`, ... Nothing is filtered: a package
may start at its destination. Paper: Appendix A, Logistics (the typed IPC 2000 domain).
"""

import random

from oclgen.domains.problem import problem_text


def refusal(*, cities: int, city_size: int, packages: int, airplanes: int) -> str | None:
    if min(cities, city_size, packages) < 1:
        return "cities, city_size and packages must be at least 1"
    if airplanes < (1 if cities > 1 else 0):
        return "airplanes must be at least 1 (0 only with one city), or packages could not change city"
    return None


def generate(rng: random.Random, *, cities: int, city_size: int, packages: int, airplanes: int) -> str:
    def place() -> str:
        return f"l{rng.randrange(cities)}-{rng.randrange(city_size)}"

    truck_places = [f"l{city}-{rng.randrange(city_size)}" for city in range(cities)]
    origins = [place() for _ in range(packages)]
    destinations = [place() for _ in range(packages)]
    airplane_places = [f"l{rng.randrange(cities)}-0" for _ in range(airplanes)]

    init = [f"in-city l{city}-{index} c{city}" for city in range(cities) for index in range(city_size)]
    init += [f"at t{city} {at}" for city, at in enumerate(truck_places)]
    init += [f"at p{package} {at}" for package, at in enumerate(origins)]
    init += [f"at a{airplane} {at}" for airplane, at in enumerate(airplane_places)]
    goal = [f"at p{package} {at}" for package, at in enumerate(destinations)]
    return problem_text("logistics", objects(cities, city_size, packages, airplanes), init, goal)


def objects(cities: int, city_size: int, packages: int, airplanes: int) -> list[tuple[str, list[str]]]:
    return [
        ("airplane", [f"a{airplane}" for airplane in range(airplanes)]),
        ("city", [f"c{city}" for city in range(cities)]),
        ("truck", [f"t{city}" for city in range(cities)]),
        ("airport", [f"l{city}-0" for city in range(cities)]),
        ("location", [f"l{city}-{index}" for city in range(cities) for index in range(1, city_size)]),
        ("package", [f"p{package}" for package in range(packages)]),
    ]
