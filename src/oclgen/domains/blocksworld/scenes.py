"""Towers on a table."""

from collections.abc import Mapping, Sequence

from oclgen.domains.blocksworld.picture import towers
from oclgen.domains.shapes import Atoms, Scene, Shape

BLOCK = 1.5
"""Width of a block; its height is 1."""


def scenes(states: Sequence[Atoms], goal: Atoms, types: Mapping[str, str]) -> list[Scene]:
    """Towers on a table, each in its column for as long as it stands; the goal's towers stand to the right."""
    del types
    columns: dict[str, int] = {}
    made: list[Scene] = []
    highest = 0
    for atoms in states:
        stacks = {tower[0]: tower for tower in towers(atoms)}
        held = [atom[1] for atom in atoms if atom[0] == "holding"]
        columns = {bottom: column for bottom, column in columns.items() if bottom in stacks}
        free = (column for column in range(len(stacks) + len(columns)) if column not in columns.values())
        columns |= {bottom: next(free) for bottom in stacks if bottom not in columns}
        home = blocks_at_home(atoms, goal)
        scene = {
            block: Shape("block home" if block in home else "block", columns[bottom] * BLOCK, -level, BLOCK, 1, block)
            for bottom, tower in stacks.items()
            for level, block in enumerate(tower)
        }
        highest = max([highest, *(len(tower) for tower in stacks.values())])
        before = made[-1] if made else {}
        scene |= {block: Shape("block held", before[block].x, 0, BLOCK, 1, block) for block in held if block in before}
        scene |= {block: Shape("block held", 0, 0, BLOCK, 1, block) for block in held if block not in before}
        made.append(scene)
    return [with_goal(raised(scene, highest), goal, widest(made)) for scene in made]


def blocks_at_home(atoms: Atoms, goal: Atoms) -> set[str]:
    """Blocks of the goal that stand right, with everything below them."""
    below = {atom[1]: atom[2] for atom in goal if atom[0] == "on"}
    home = set()
    for tower in towers(goal):
        for block in tower:
            wanted = ("on", block, below[block]) if block in below else ("on-table", block)
            if wanted not in atoms:
                break
            home.add(block)
    return home


def raised(scene: Scene, highest: int) -> Scene:
    """The held block, above all towers."""
    held = {
        key: Shape(shape.kind, shape.x, -highest - 0.5, BLOCK, 1, shape.label)
        for key, shape in scene.items()
        if shape.kind == "block held"
    }
    return scene | held


def widest(scenes: Sequence[Scene]) -> float:
    return max((shape.x + shape.width for scene in scenes for shape in scene.values()), default=0.0)


def with_goal(scene: Scene, goal: Atoms, width: float) -> Scene:
    offset, wanted = width + BLOCK, towers(goal)
    goals = {
        f"goal {block}": Shape("ghost", offset + column * BLOCK, -level, BLOCK, 1, block)
        for column, tower in enumerate(wanted)
        for level, block in enumerate(tower)
    }
    tables = {
        "table": Shape("table", 0, 1, width, 0.2),
        "goal table": Shape("table", offset, 1, max(1, len(wanted)) * BLOCK, 0.2),
        "now": Shape("caption", 0, 1.4, width, 0.8, "now"),
        "goal": Shape("caption", offset, 1.4, max(1, len(wanted)) * BLOCK, 0.8, "goal"),
    }
    return tables | goals | scene
