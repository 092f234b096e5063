"""A board with a walkable path, scrambled by rotations none of which may leave the exit reachable on foot.

The robot starts on card 0 in the north-west corner; the exit is the south side of the south-east corner. Only inner
lines are rotated, so corner cards never move. Undoing the rotations and walking always solves the instance. Paper:
Appendix A, Labyrinth (the IPC 2023 generator's distribution).
"""

import random
from dataclasses import dataclass
from itertools import pairwise

from oclgen.domains.problem import problem_text

Cell = tuple[int, int]
"""(x, y): x grows to the east, y to the south."""

SIDES: dict[str, Cell] = {"n": (0, -1), "e": (1, 0), "s": (0, 1), "w": (-1, 0)}
OPPOSITE = {"n": "s", "s": "n", "e": "w", "w": "e"}
MAX_WALLS = 2
OPENING_PROBABILITY = 0.25
MAX_REJECTIONS = 200
"""In a row. Some boards stay walkable under every allowed rotation (2 % of 3 x 3 boards): such a board is redrawn."""


@dataclass(slots=True)
class Board:
    """`cards[x, y]` is the card lying there; `open_sides[card]` are its sides without a wall."""

    size: int
    cards: dict[Cell, int]
    open_sides: list[set[str]]

    def neighbours(self, cell: Cell) -> dict[str, Cell]:
        return {
            side: (cell[0] + dx, cell[1] + dy)
            for side, (dx, dy) in SIDES.items()
            if 0 <= cell[0] + dx < self.size and 0 <= cell[1] + dy < self.size
        }

    def connects(self, cell: Cell, side: str, other: Cell) -> bool:
        return side in self.open_sides[self.cards[cell]] and OPPOSITE[side] in self.open_sides[self.cards[other]]

    def is_walkable(self) -> bool:
        """Whether walking alone leads from the north-west to the south-east corner."""
        reached, frontier = {(0, 0)}, [(0, 0)]
        while frontier:
            cell = frontier.pop()
            for side, other in self.neighbours(cell).items():
                if other not in reached and self.connects(cell, side, other):
                    reached.add(other)
                    frontier.append(other)
        return (self.size - 1, self.size - 1) in reached

    def rotate(self, direction: str, line: int) -> None:
        """Move column `line` (n, s) or row `line` (e, w) by one, cyclically."""
        dx, dy = SIDES[direction]
        cells = [(line, i) if dy else (i, line) for i in range(self.size)]
        moved = {((x + dx) % self.size, (y + dy) % self.size): self.cards[x, y] for x, y in cells}
        self.cards.update(moved)


def refusal(*, size: int, rotations: int) -> str | None:
    if size < 3:
        return "size must be at least 3: only inner lines are rotated"
    return "rotations must not be negative" if rotations < 0 else None


def generate(rng: random.Random, *, size: int, rotations: int) -> str:
    board = walkable_board(rng, size)
    while not scramble(rng, board, rotations):
        board = walkable_board(rng, size)
    return board_text(board)


def walkable_board(rng: random.Random, size: int) -> Board:
    """Walls everywhere but along a random path, then random openings until no card has more than two walls."""
    cells = [(x, y) for x in range(size) for y in range(size)]
    board = Board(size, {(x, y): x + y * size for x, y in cells}, [set() for _ in cells])
    path = random_path(rng, board)
    for here, there in pairwise(path):
        side = next(side for side, cell in board.neighbours(here).items() if cell == there)
        board.open_sides[board.cards[here]].add(side)
        board.open_sides[board.cards[there]].add(OPPOSITE[side])
    board.open_sides[-1].add("s")
    for cell in cells:
        open_random_sides(rng, board.open_sides[board.cards[cell]])
    return board


def random_path(rng: random.Random, board: Board) -> list[Cell]:
    """A loop-erased walk between the corners that never steps straight back."""
    path = [(0, 0)]
    while path[-1] != (board.size - 1, board.size - 1):
        step = rng.choice(list(board.neighbours(path[-1]).values()))
        if len(path) > 1 and step == path[-2]:
            continue
        if step in path:
            del path[path.index(step) + 1 :]
        else:
            path.append(step)
    return path


def open_random_sides(rng: random.Random, open_sides: set[str]) -> None:
    """At least one pass over the four sides, more until at most two walls stand."""
    while True:
        open_sides.update(side for side in SIDES if rng.random() < OPENING_PROBABILITY)
        if len(open_sides) >= len(SIDES) - MAX_WALLS:
            return


def scramble(rng: random.Random, board: Board, rotations: int) -> bool:
    """Apply `rotations` rotations, each leaving the board unwalkable; False where none can be found."""
    last: tuple[str, int] | None = None
    for _ in range(rotations):
        for _ in range(MAX_REJECTIONS):
            rotation = rng.choice("nesw"), rng.randint(1, board.size - 2)
            if last == (OPPOSITE[rotation[0]], rotation[1]):
                continue
            board.rotate(*rotation)
            if not board.is_walkable():
                last = rotation
                break
            board.rotate(OPPOSITE[rotation[0]], rotation[1])
        else:
            return False
    return True


def board_text(board: Board) -> str:
    size = board.size
    cells = [(x, y) for y in range(size) for x in range(size)]
    init = [f"max-pos pos{size - 1}", "min-pos pos0", *(f"next pos{i + 1} pos{i}" for i in range(size - 1))]
    init += [f"card-at card{board.cards[x, y]} pos{x} pos{y}" for x, y in cells]
    walls = [(board.cards[cell], side) for cell in cells for side in SIDES]
    init += [f"blocked card{card} {side}" for card, side in walls if side not in board.open_sides[card]]
    init += ["robot-at card0", "= (total-cost) 0", "= (move-robot-cost) 1", "= (move-card) 1"]
    objects = [
        ("gridpos", [f"pos{i}" for i in range(size)]),
        ("card", [f"card{i}" for i in range(size * size)]),
    ]
    return problem_text("labyrinth", objects, init, ["left"], metric="minimize (total-cost)")
