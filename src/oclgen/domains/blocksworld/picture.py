"""Towers side by side: the state on the left, the goal's towers on the right."""

from collections.abc import Collection

Atom = tuple[str, ...]


def towers(atoms: Collection[Atom]) -> list[list[str]]:
    """Bottom-up towers; blocks in no `on` or `on-table` atom do not appear."""
    above = {atom[2]: atom[1] for atom in atoms if atom[0] == "on"}
    placed = set(above.values())
    bottoms = [atom[1] for atom in atoms if atom[0] == "on-table"]
    bottoms += [block for block in above if block not in placed and block not in bottoms]
    built = []
    for bottom in sorted(bottoms, key=lambda name: (len(name), name)):
        tower = [bottom]
        while tower[-1] in above:
            tower.append(above[tower[-1]])
        built.append(tower)
    return built


def lines_of(stacks: list[list[str]], height: int) -> list[str]:
    width = max((len(block) for stack in stacks for block in stack), default=1)
    rows = []
    for level in reversed(range(height)):
        rows.append(" ".join((stack[level] if level < len(stack) else "").center(width) for stack in stacks))
    return [*rows, "─" * max(1, len(stacks) * (width + 1) - 1)]


def picture(atoms: Collection[Atom], goal: Collection[Atom]) -> str:
    now, then = towers(atoms), towers(goal)
    height = max(len(stack) for stack in [*now, *then, [""]])
    left, right = lines_of(now, height), lines_of(then, height)
    width = max(map(len, left))
    held = [atom[1] for atom in atoms if atom[0] == "holding"]
    head = [f"{'now':<{width}}      goal" + (f"      (holding {held[0]})" if held else "")]
    return "\n".join(head + [f"{a:<{width}}  →   {b}" for a, b in zip(left, right, strict=True)])
