"""Boards of Sokoban that can be solved: boxes start on their goals and are pulled away from them at random."""

import random
from collections.abc import Iterator

from benchmarks.ipc2023.problem_text import numbered, problem_text

Cell = tuple[int, int]
DIRECTIONS: dict[str, Cell] = {"down": (1, 0), "up": (-1, 0), "left": (0, -1), "right": (0, 1)}
WALLS = 0.25
"""Of the cells inside the border."""
PULLS = 40
"""For each box."""


def sokoban(rng: random.Random, grid: int, boxes: int) -> str:
    """A board of grid x grid cells, border included; boards on which no box can be moved far enough are drawn again."""
    while True:
        floor = largest_room({cell for cell in inside(grid) if rng.random() >= WALLS})
        if len(floor) < 4 * (boxes + 1):
            continue
        *goals, robot = rng.sample(sorted(floor), boxes + 1)
        start, robot = pulled(rng, floor, goals, robot)
        if all(one != other for one, other in zip(start, goals, strict=True)):
            return board_text(grid, floor, start, goals, robot)


def inside(grid: int) -> Iterator[Cell]:
    return ((row, column) for row in range(2, grid) for column in range(2, grid))


def moved(cell: Cell, step: Cell, times: int = 1) -> Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1]


def reachable(start: Cell, free: set[Cell]) -> set[Cell]:
    found, waiting = {start}, [start]
    while waiting:
        cell = waiting.pop()
        new = [each for step in DIRECTIONS.values() if (each := moved(cell, step)) in free and each not in found]
        found.update(new)
        waiting += new
    return found


def largest_room(floor: set[Cell]) -> set[Cell]:
    rooms: list[set[Cell]] = []
    left = set(floor)
    while left:
        rooms.append(reachable(min(left), left))
        left -= rooms[-1]
    return max(rooms, key=lambda room: (len(room), sorted(room)), default=set())


def pulled(rng: random.Random, floor: set[Cell], goals: list[Cell], robot: Cell) -> tuple[list[Cell], Cell]:
    """Where boxes and robot are after random pulls: the robot walks to a box and takes it one cell backwards."""
    boxes = list(goals)
    for _ in range(PULLS * len(boxes)):
        free = floor - set(boxes)
        near = reachable(robot, free)
        choices = [
            (number, step)
            for number, box in enumerate(boxes)
            for step in DIRECTIONS.values()
            if moved(box, step) in near and moved(box, step, 2) in free
        ]
        if not choices:
            break
        number, step = rng.choice(choices)
        boxes[number], robot = moved(boxes[number], step), moved(boxes[number], step, 2)
    return boxes, robot


def board_text(grid: int, floor: set[Cell], boxes: list[Cell], goals: list[Cell], robot: Cell) -> str:
    names = numbered("box", len(boxes))
    cells = [(row, column) for row in range(1, grid + 1) for column in range(1, grid + 1)]
    init = [f"at-robot {location(robot)}"]
    init += [f"at {box} {location(cell)}" for box, cell in zip(names, boxes, strict=True)]
    init += [f"clear {location(cell)}" for cell in sorted(floor - set(boxes))]
    for cell in sorted(floor):
        init += [
            f"adjacent {location(cell)} {location(moved(cell, step))} {name}"
            for name, step in DIRECTIONS.items()
            if moved(cell, step) in floor
        ]
    goal = (f"at {box} {location(cell)}" for box, cell in zip(names, goals, strict=True))
    objects = {"location": [location(cell) for cell in cells], "box": names}
    return problem_text("sokoban", "sokoban", objects, init, goal)


def location(cell: Cell) -> str:
    return f"loc_{cell[0]}_{cell[1]}"
