"""The grid from above."""

from collections.abc import Mapping, Sequence

from oclgen.domains.shapes import Atoms, Scene, Shape
from oclgen.domains.sokoban.picture import cell


def scenes(states: Sequence[Atoms], goal: Atoms, types: Mapping[str, str]) -> list[Scene]:
    """The grid from above. Boxes have no names in PDDL: the one that vanishes is the one that appears."""
    del types
    targets = {cell(atom[1]) for atom in goal if atom[0] == "has-box"}
    first = {name: places(states[0], name) for name in ("clear", "has-box", "at-robot")}
    floor = targets.union(*first.values())
    rows, columns = 1 + max(row for row, _ in floor), 1 + max(column for _, column in floor)
    ground = {"board": Shape("floor", -1, -1, columns + 2, rows + 2)}
    ground |= {
        f"wall {row} {column}": Shape("wall", column, row)
        for row in range(-1, rows + 1)
        for column in range(-1, columns + 1)
        if (row, column) not in floor
    }
    ground |= {f"target {row} {column}": Shape("target", column, row) for row, column in sorted(targets)}
    boxes = sorted(first["has-box"])
    made: list[Scene] = []
    for atoms in states:
        now = places(atoms, "has-box")
        moved = iter(sorted(now.difference(boxes)))
        boxes = [box if box in now else next(moved) for box in boxes]
        shapes = {
            f"box {number}": Shape("box home" if (row, column) in targets else "box", column, row)
            for number, (row, column) in enumerate(boxes)
        }
        row, column = next(iter(places(atoms, "at-robot")))
        made.append(ground | shapes | {"robot": Shape("robot", column, row)})
    return made


def places(atoms: Atoms, predicate: str) -> set[tuple[int, int]]:
    return {cell(atom[1]) for atom in atoms if atom[0] == predicate}
