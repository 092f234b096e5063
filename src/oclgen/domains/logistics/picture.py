"""One line per city: its locations with what stands there; packages show where they want to go."""

from collections import defaultdict
from collections.abc import Collection

Atom = tuple[str, ...]


def natural(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name[1:].split("-") if part.isdigit())


def picture(atoms: Collection[Atom], goal: Collection[Atom]) -> str:
    target = {atom[1]: atom[2] for atom in goal if atom[0] == "at"}
    city_of = {atom[1]: atom[2] for atom in atoms if atom[0] == "in-city"}
    inside: dict[str, list[str]] = defaultdict(list)
    for name, *arguments in sorted(atoms):
        if name in ("at", "in"):
            inside[arguments[1]].append(arguments[0])

    def show(thing: str) -> str:
        load = ",".join(show(package) for package in inside.get(thing, ()))
        arrow = f"→{target[thing]}" if thing in target else ""
        return f"{thing}{arrow}" + (f"[{load}]" if load else "")

    cities: dict[str, list[str]] = defaultdict(list)
    for place in sorted(city_of, key=natural):
        things = " ".join(show(thing) for thing in inside.get(place, ()))
        cities[city_of[place]].append(f"{place}({things})")
    return "\n".join(f"{city}: {'  '.join(places)}" for city, places in cities.items())
