"""Cities change places, with their trucks and locations; locations inside a city do, and packages, and airplanes.

Airports stay airports, and truck i stays in city i, as the generator has it.
"""

import random
import re
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")

LOCATION = re.compile(r"l(\d+)-(\d+)")


def renaming(objects: Iterable[str], rng: random.Random) -> dict[str, str]:
    names = list(objects)
    places = [(int(place[1]), int(place[2])) for place in map(LOCATION.fullmatch, names) if place]
    cities = shuffled(range(1 + max((city for city, _ in places), default=0)), rng)
    inside = range(1, 1 + max((index for _, index in places), default=0))
    renamed: dict[str, str] = {}
    for city, target in enumerate(cities):
        renamed |= {f"c{city}": f"c{target}", f"t{city}": f"t{target}", f"l{city}-0": f"l{target}-0"}
        indices = zip(inside, shuffled(inside, rng), strict=True)
        renamed |= {f"l{city}-{index}": f"l{target}-{place}" for index, place in indices}
    for letter in "pa":
        movable = sorted(name for name in names if name[0] == letter)
        renamed |= dict(zip(movable, shuffled(movable, rng), strict=True))
    return renamed


def shuffled(items: Iterable[Item], rng: random.Random) -> list[Item]:
    mixed = list(items)
    rng.shuffle(mixed)
    return mixed
