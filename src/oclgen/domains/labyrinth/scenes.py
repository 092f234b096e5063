"""The board of cards."""

from collections.abc import Mapping, Sequence

from oclgen.domains.shapes import Atoms, Scene, Shape


def scenes(states: Sequence[Atoms], goal: Atoms, types: Mapping[str, str]) -> list[Scene]:
    """The board of cards with their walls; a card that was taken out lies beside its row or column."""
    del goal, types
    outwards = {"west": (-1.15, 0), "east": (1.15, 0), "north": (0, -1.15), "south": (0, 1.15)}
    walls: dict[str, str] = {}
    for atom in sorted(atom for atom in states[0] if atom[0] == "blocked"):
        walls[atom[1]] = walls.get(atom[1], "") + atom[2]
    spots: dict[str, tuple[float, float]] = {}
    made: list[Scene] = []
    for atoms in states:
        lying = {atom[1]: (float(atom[2][3:]), float(atom[3][3:])) for atom in atoms if atom[0] == "card-at"}
        push = next((outwards[key] for key in outwards if (f"cards-moving-{key}",) in atoms), (0, 0))
        beside = {card: spot for card, spot in spots.items() if card not in lying}
        if made:
            taken = {card for card in beside if made[-1][card].kind == "card"}
            beside |= {card: (spots[card][0] + push[0], spots[card][1] + push[1]) for card in taken}
        spots = beside | lying
        size = max(max(spot) for spot in lying.values())
        scene = {card: Shape("card", *spot, walls=walls.get(card, "")) for card, spot in sorted(lying.items())}
        scene |= {card: Shape("card taken", *spot, walls=walls.get(card, "")) for card, spot in beside.items()}
        robot = next((atom[1] for atom in atoms if atom[0] == "robot-at"), None)
        way_out = (size, size + 1.0)
        if robot is not None:
            scene["robot"] = Shape("robot", *(way_out if ("left",) in atoms else spots[robot]))
        made.append({"exit": Shape("exit", *way_out, label="exit"), **scene})
    return made
