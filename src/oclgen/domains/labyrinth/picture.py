"""The board of cards with their walls; R is the robot, the way out is the bottom right card's south side."""

from collections.abc import Collection

Atom = tuple[str, ...]


def picture(atoms: Collection[Atom], goal: Collection[Atom]) -> str:
    del goal  # it is always to leave the board
    place = {(int(atom[2][3:]), int(atom[3][3:])): atom[1] for atom in atoms if atom[0] == "card-at"}
    blocked = {(atom[1], atom[2]) for atom in atoms if atom[0] == "blocked"}
    robot = next((atom[1] for atom in atoms if atom[0] == "robot-at"), None)
    size = 1 + max(x for x, _ in place)
    lines = []
    for y in range(size):
        cards = [place.get((x, y), "") for x in range(size)]
        lines.append("".join("┌──┐" if (card, "n") in blocked else "┌  ┐" for card in cards))
        lines.append("".join(middle(card, blocked, card == robot) for card in cards))
        lines.append("".join("└──┘" if (card, "s") in blocked else "└  ┘" for card in cards))
    return "\n".join([*lines, " " * (4 * size - 3) + "exit"])


def middle(card: str, blocked: set[tuple[str, str]], robot: bool) -> str:
    west = "│" if (card, "w") in blocked else " "
    east = "│" if (card, "e") in blocked else " "
    return west + ("R " if robot else "  ") + east
