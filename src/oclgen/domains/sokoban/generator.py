"""Boxes are put onto walks that lead backwards from their goals, then walls onto cells no such walk needs.

The robot starts in the first column; the goals are the lowest cells of the last column, each with a wall to its
left. Delivering the lowest goal's box first is meant to work, with the corners of each walk kept free for the robot
(one kind of corner is not kept free, and no unsolvable instance is known). Rejected walks restart the instance, which
is part of the distribution. Paper: Appendix A, Sokoban (the generator of the IPC 2008 learning track).

Cells are (row, column), row 0 on top.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from oclgen.domains.problem import problem_text
from oclgen.errors import InputError

Cell = tuple[int, int]

DIRECTIONS: dict[str, Cell] = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
UP, LEFT, DOWN = "up", "left", "down"
NEXT_MODES = {UP: (UP, LEFT), DOWN: (DOWN, LEFT), LEFT: (UP, LEFT, DOWN)}
LEFT_RUN = 2
MAX_RESTARTS = 20_000
"""The worst class of the paper's ranges (12 x 12, 10 boxes) needs about 300 on average."""


class WalkStuckError(Exception):
    """A walk did not reach column 1 within its rounds: the whole instance is drawn again."""


@dataclass(slots=True)
class Board:
    size: int
    robot: Cell
    goals: list[Cell]
    goal_walls: set[Cell]
    boxes: list[Cell] = field(default_factory=list)
    margins: set[Cell] = field(default_factory=set)  # kept free around boxes while they are placed
    walks: list[list[Cell]] = field(default_factory=list)  # forwards: from column 1 to beside the goal

    def is_free(self, cell: Cell) -> bool:
        return cell not in self.goal_walls and cell not in self.margins and cell not in self.goals


def refusal(*, grid: int, boxes: int, walls: int) -> str | None:
    if grid < 5:
        return "grid must be at least 5"
    most = 2 if grid == 5 else (grid - 2) * (grid - 3) // 9
    if not 1 <= boxes <= most:
        return f"a {grid} x {grid} grid takes 1 to {most} boxes"
    return "walls must not be negative" if walls < 0 else None


def generate(rng: random.Random, *, grid: int, boxes: int, walls: int) -> str:
    board = board_with_boxes(rng, grid, boxes)
    return board_text(board, random_walls(rng, grid, wall_cells(board), walls))


def board_with_boxes(rng: random.Random, size: int, boxes: int) -> Board:
    longest = 0  # over restarts too
    for _ in range(MAX_RESTARTS):
        goals = [(row, size - 1) for row in range(size - boxes, size)]
        board = Board(size, (rng.randrange(size), 0), goals, {(row, size - 2) for row, _ in goals})
        try:
            for goal in goals:
                walk = walk_to_goal(rng, board, goal)
                candidates = sum(column <= size - 3 for _, column in walk)
                board.walks.append(walk)
                place_box(board, walk[box_index(rng, candidates, longest)])
                longest = max(longest, candidates)
        except WalkStuckError:
            continue
        return board
    raise InputError(f"no board found with grid={size} boxes={boxes} in {MAX_RESTARTS} tries; use fewer boxes")


def walk_to_goal(rng: random.Random, board: Board, goal: Cell) -> list[Cell]:
    """Walk backwards from the goal in straight runs until column 1; returned forwards, the goal left out."""
    cell, mode = goal, rng.choice((UP, LEFT, DOWN))
    walk: list[Cell] = []
    rounds = 0
    while cell[1] > 1:
        rounds += 1
        if rounds > board.size**2:
            raise WalkStuckError
        for _ in range(run_length(rng, board.size, cell[0], mode)):
            step = (cell[0] + DIRECTIONS[mode][0], cell[1] + DIRECTIONS[mode][1])
            if not may_enter(board, step, mode):
                break
            walk.append(step)
            cell = step
        mode = rng.choice(NEXT_MODES[mode])
    return walk[::-1]


def run_length(rng: random.Random, size: int, row: int, mode: str) -> int:
    if mode == LEFT:
        return LEFT_RUN
    return rng.randint(1, row + 1 if mode == UP else size - row)


def may_enter(board: Board, cell: Cell, mode: str) -> bool:
    if mode == UP:
        return cell[0] >= 1 and (board.is_free(cell) or cell in board.goals)
    if mode == DOWN:
        return cell[0] <= board.size - 2 and board.is_free(cell)
    return cell[1] >= 1 and board.is_free(cell)


def box_index(rng: random.Random, candidates: int, longest_before: int) -> int:
    """Uniform over the first k walk cells, those left of the goal walls, with the public generator's off-by-one kept.

    That generator draws from 0..k and, for k, reads one past the end of its list of indices. There it finds k, left
    over from a longer list of the same run, and the box starts beside the goal column; or it finds 0, where no list
    was longer or where the memory allocator has cleared the place (short lists) or the list filled it (powers of two).
    """
    index = rng.randint(0, candidates)
    left_over = longest_before > candidates >= 5 and candidates.bit_count() > 1
    return 0 if index == candidates and not left_over else index


def place_box(board: Board, box: Cell) -> None:
    """Later walks and boxes keep away from the box and its neighbours.

    A margin may cover a goal wall, which then turns into floor like every margin.
    """
    row, column = box
    board.boxes.append(box)
    margin = {box, (row - 1, column), (row + 1, column)}
    if column > 1:
        margin.add((row, column - 1))
    if column + 1 < board.size - 2:
        margin.add((row, column + 1))
    board.margins |= margin
    board.goal_walls -= margin


def wall_cells(board: Board) -> list[Cell]:
    """Where walls may stand: inner columns, off all walks, their corners and the boxes' margins; row-major."""
    taken = set(board.margins)
    for walk in board.walks:
        taken.update(walk)
        taken.update(corner_cells(walk, board.size))
    cells = ((row, column) for row in range(board.size) for column in range(1, board.size - 2))
    return [cell for cell in cells if cell not in taken]


def corner_cells(walk: list[Cell], size: int) -> Iterable[Cell]:
    """Two cells per bend through which the robot gets behind the box to push it on."""
    steps = [(there[0] - here[0], there[1] - here[1]) for here, there in pairwise(walk)]
    for (row, column), before, after in zip(walk[1:], steps, steps[1:], strict=False):
        if before[1] == 0 and after == (0, 1) and 1 < column < size - 1:
            yield from ((row, column - 1), (row - before[0], column - 1))
        if before == (0, 1) and after[1] == 0 and 1 < column < size - 2:
            yield from ((row - after[0], column), (row - after[0], column - 1))


def random_walls(rng: random.Random, size: int, allowed: list[Cell], segments: int) -> set[Cell]:
    """Straight segments that may overlap, each cut short at a cell where no wall may stand."""
    if segments > len(allowed):
        return set(allowed)
    allowed_set, walls = set(allowed), set[Cell]()
    for _ in range(segments):
        length = rng.randint(0, size // 2) + 1
        row, column = rng.choice(allowed)
        down, right = DIRECTIONS[rng.choice(("up", "down", "left", "right"))]
        for i in range(length):
            cell = (row + i * down, column + i * right)
            if cell not in allowed_set:
                break
            walls.add(cell)
    return walls


def board_text(board: Board, walls: set[Cell]) -> str:
    size = board.size
    cells = [(row, column) for row in range(size) for column in range(size)]
    init = [
        f"adjacent {name(cell)} {name(other)} {direction}"
        for cell in cells
        for direction, (down, right) in DIRECTIONS.items()
        if min(other := (cell[0] + down, cell[1] + right)) >= 0 and max(other) < size
    ]
    init += [f"has-box {name(box)}" for box in board.boxes]
    not_clear = board.goal_walls | walls | set(board.boxes)
    for cell in cells:
        init += [f"at-robot {name(cell)}"] if cell == board.robot else []
        init += [f"clear {name(cell)}"] if cell not in not_clear else []
    objects = [("DIR", ["up", "down", "left", "right"]), ("LOC", [name(cell) for cell in cells])]
    return problem_text("typed-sokoban", objects, init, [f"has-box {name(goal)}" for goal in board.goals])


def name(cell: Cell) -> str:
    return f"f{cell[0]}-{cell[1]}f"
