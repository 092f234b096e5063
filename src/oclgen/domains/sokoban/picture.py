"""The grid as Sokoban players write it: # wall, @ robot, $ box, . goal, * box on a goal, + robot on a goal."""

import re
from collections.abc import Collection

Atom = tuple[str, ...]

SYMBOLS = {
    (False, False): (" ", "."),
    (True, False): ("@", "+"),
    (False, True): ("$", "*"),
}


def cell(name: str) -> tuple[int, int]:
    match = re.fullmatch(r"f(\d+)-(\d+)f", name)
    if match is None:
        raise ValueError(f"{name!r} is not a cell name")
    return int(match[1]), int(match[2])


def picture(atoms: Collection[Atom], goal: Collection[Atom]) -> str:
    where: dict[str, set[tuple[int, int]]] = {"clear": set(), "has-box": set(), "at-robot": set()}
    for name, *arguments in atoms:
        if name in where:
            where[name].add(cell(arguments[0]))
    goals = {cell(atom[1]) for atom in goal if atom[0] == "has-box"}
    floor = where["clear"] | where["has-box"] | where["at-robot"] | goals
    size = 1 + max(max(row, column) for row, column in floor)

    def symbol(place: tuple[int, int]) -> str:
        if place not in floor:
            return "#"
        return SYMBOLS[place in where["at-robot"], place in where["has-box"]][place in goals]

    border = "#" * (size + 2)
    rows = ["#" + "".join(symbol((row, column)) for column in range(size)) + "#" for row in range(size)]
    return "\n".join([border, *rows, border])
