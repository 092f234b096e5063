"""Cities as panels, their locations as boxes, vehicles with their load; a package has the colour of its destination."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from oclgen.domains.logistics.picture import natural
from oclgen.domains.shapes import Atoms, Scene, Shape

ACROSS = 4
"""Things side by side in a location; a vehicle stands first in a row with its load behind it."""
GAP = 0.4
HEAD = 0.7
"""Height of a location's name."""


def scenes(states: Sequence[Atoms], goal: Atoms, types: Mapping[str, str]) -> list[Scene]:
    city_of = {atom[1]: atom[2] for atom in states[0] if atom[0] == "in-city" and atom[1] not in types_of(types)}
    contents = [Contents(atoms, types) for atoms in states]
    rows = max(each.rows(place) for each in contents for place in city_of)
    ground, spots = panels(city_of, rows)
    target = {atom[1]: atom[2] for atom in goal if atom[0] == "at"}
    hues = {city: number for number, city in enumerate(dict.fromkeys(city_of[place] for place in spots))}
    made: list[Scene] = []
    for each in contents:
        scene = dict(ground)
        for thing, (x, y, width, place) in each.layout(spots).items():
            wanted = target.get(thing)
            kind = each.kind(thing) + (" home" if wanted is not None and wanted == place else "")
            hue = hues.get(city_of.get(wanted or "", ""), -1)
            scene[thing] = Shape(kind, x, y, width, 0.85, thing, hue=hue)
        made.append(scene)
    return made


def types_of(types: Mapping[str, str]) -> set[str]:
    return {name for name, kind in types.items() if kind == "truck"}


class Contents:
    """What is where in one state."""

    def __init__(self, atoms: Atoms, types: Mapping[str, str]) -> None:
        self.types = types
        self.inside: dict[str, list[str]] = defaultdict(list)
        for atom in sorted(atoms):
            if atom[0] in ("at", "in"):
                self.inside[atom[2]].append(atom[1])

    def kind(self, thing: str) -> str:
        return {"truck": "truck", "airplane": "airplane"}.get(self.types.get(thing, ""), "package")

    def split(self, place: str) -> tuple[list[str], list[str]]:
        """Vehicles and packages."""
        things = self.inside.get(place, [])
        return [each for each in things if self.kind(each) != "package"], [
            each for each in things if self.kind(each) == "package"
        ]

    def rows(self, place: str) -> int:
        vehicles, packages = self.split(place)
        return max(1, len(vehicles) + math.ceil(len(packages) / ACROSS))

    def layout(self, spots: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float, float, str | None]]:
        """Left, top, width and place of each thing; what is in a vehicle is at no place."""
        found: dict[str, tuple[float, float, float, str | None]] = {}
        for place, (left, top) in spots.items():
            vehicles, packages = self.split(place)
            for row, vehicle in enumerate(vehicles):
                found[vehicle] = (left, top + row, 0.95, place)
                load = self.inside.get(vehicle, [])
                pitch = min(1.0, (ACROSS - 1) / max(1, len(load)))
                found |= {
                    package: (left + 1 + number * pitch, top + row, 0.95, None) for number, package in enumerate(load)
                }
            for number, package in enumerate(packages):
                row, column = divmod(number, ACROSS)
                found[package] = (left + column, top + len(vehicles) + row, 0.95, place)
        return found


def panels(city_of: Mapping[str, str], rows: int) -> tuple[Scene, dict[str, tuple[float, float]]]:
    """The cities side by side, each with its locations below each other; and where a location's things begin."""
    cities: dict[str, list[str]] = defaultdict(list)
    for place in sorted(city_of, key=lambda name: (natural(name), name)):
        cities[city_of[place]].append(place)
    tall = max(map(len, cities.values())) * (rows + HEAD + GAP) + GAP + HEAD
    wide = ACROSS + 4 * GAP
    across = max(1, round(math.sqrt(len(cities) * tall / wide * 1.6)))
    ground, spots = {}, {}
    for number, (city, places) in enumerate(cities.items()):
        line, column = divmod(number, across)
        left, top = column * (wide + GAP), line * (tall + GAP)
        ground[f"city {city}"] = Shape("city", left, top, wide, tall, city, hue=number)
        for index, place in enumerate(places):
            y = top + HEAD + index * (rows + HEAD + GAP) + GAP
            ground[f"place {place}"] = Shape("place", left + GAP, y, wide - 2 * GAP, rows + HEAD, place)
            spots[place] = (left + 2 * GAP, y + HEAD - 0.05)
    return ground, spots
