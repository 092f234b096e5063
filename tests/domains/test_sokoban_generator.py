import random
from collections import deque

import pytest

from oclgen.domains import catalog
from oclgen.domains.sokoban import generator
from oclgen.errors import InputError
from tests.domains.reading import Parts, fits, parts

Cell = tuple[int, int]
MOST_BOXES = {5: 2, 6: 1, 7: 2, 8: 3, 9: 4, 10: 6, 11: 8, 12: 10, 13: 12, 14: 14}
PAIRS = [(grid, boxes) for grid, most in MOST_BOXES.items() for boxes in range(1, min(most, 10) + 1)]


def problem(seed: int, grid: int, boxes: int, walls: int) -> Parts:
    return parts(generator.generate(random.Random(seed), grid=grid, boxes=boxes, walls=walls))


def cell(name: str) -> Cell:
    row, column = name.removeprefix("f").removesuffix("f").split("-")
    return int(row), int(column)


def cells(drawn: Parts, predicate: str) -> list[Cell]:
    return [cell(argument) for (argument,) in drawn.args(predicate)]


def sample() -> list[tuple[Parts, int, int, int]]:
    """Every pair of the paper up to the ones that need hundreds of restarts, with 0 to 10 walls."""
    easy = [pair for pair in PAIRS if pair[1] <= 7]
    return [(problem(i, *pair, i % 11), *pair, i % 11) for i, pair in enumerate(easy * 2)]


def test_the_possible_grid_and_box_pairs_are_drawn_uniformly() -> None:
    spec = catalog.load("sokoban")
    rng = random.Random(1)
    drawn = [catalog.sample_parameters(spec, rng) for _ in range(5600)]
    assert len(PAIRS) == 56
    assert fits(((parameters["grid"], parameters["boxes"]) for parameters in drawn), dict.fromkeys(PAIRS, 1.0))
    assert fits((parameters["walls"] for parameters in drawn), dict.fromkeys(range(11), 1.0))


@pytest.mark.parametrize(("grid", "most"), MOST_BOXES.items())
def test_more_boxes_than_the_bound_are_refused(grid: int, most: int) -> None:
    assert generator.refusal(grid=grid, boxes=most, walls=0) is None
    assert generator.refusal(grid=grid, boxes=most + 1, walls=0) is not None
    assert generator.refusal(grid=grid, boxes=0, walls=0) is not None


def test_robot_starts_anywhere_in_the_first_column() -> None:
    starts = (cells(problem(seed, 7, 1, 3), "at-robot") for seed in range(700))
    assert fits((robot for (robot,) in starts), {(row, 0): 1.0 for row in range(7)})


def test_goals_are_the_lowest_cells_of_the_last_column_with_walls_to_their_left() -> None:
    for drawn, grid, boxes, _ in sample():
        goals = [cell(name) for _, name in drawn.goal]
        assert goals == [(row, grid - 1) for row in range(grid - boxes, grid)]
        clear = set(cells(drawn, "clear"))
        walled = [(row, grid - 2) not in clear for row, _ in goals]
        assert all(walled[1:])
        assert walled[0] or (goals[0][0] - 1, grid - 2) in cells(drawn, "has-box")


def test_walls_stand_only_in_inner_columns() -> None:
    for drawn, grid, boxes, walls in sample():
        clear, crates = set(cells(drawn, "clear")), set(cells(drawn, "has-box"))
        everything = {(row, column) for row in range(grid) for column in range(grid)}
        goal_walls = {(row, grid - 2) for row in range(grid - boxes, grid)}
        segments = everything - clear - crates - goal_walls
        assert all(1 <= column <= grid - 3 for _, column in segments)
        assert len(segments) <= max(walls * (grid // 2 + 1), 0)


def test_boxes_stand_on_different_cells_that_are_not_clear() -> None:
    for drawn, grid, boxes, _ in sample():
        crates = cells(drawn, "has-box")
        assert len(set(crates)) == len(crates) == boxes
        assert not set(crates) & set(cells(drawn, "clear"))
        assert all(1 <= row <= grid - 2 and 1 <= column <= grid - 2 for row, column in crates)


@pytest.mark.parametrize(
    ("candidates", "longest_before", "weights"),
    [
        (5, 0, [2, 1, 1, 1, 1]),  # the first box: reading past the end finds index 0
        (5, 5, [2, 1, 1, 1, 1]),  # so it does where no list was longer,
        (4, 9, [2, 1, 1, 1]),  # for a power of two
        (3, 9, [2, 1, 1]),  # and for short lists;
        (5, 6, [1, 1, 1, 1, 1, 1]),  # otherwise the cell beside the goal column is reached
    ],
)
def test_box_places_keep_the_public_generators_off_by_one(
    candidates: int, longest_before: int, weights: list[float]
) -> None:
    rng = random.Random(2)
    picks = (generator.box_index(rng, candidates, longest_before) for _ in range(6000))
    assert fits(picks, dict(enumerate(weights)))


def test_a_few_boxes_of_many_start_beside_the_goal_column() -> None:
    """In 1000 boards each, the public generator puts 4.5 % of boxes there on 9 x 9 with 4, none on 5 x 5 with 2."""

    def columns(grid: int, boxes: int) -> list[int]:
        return [column for seed in range(300) for _, column in cells(problem(seed, grid, boxes, 0), "has-box")]

    crowded = columns(9, 4)
    assert 0.03 < crowded.count(7) / len(crowded) < 0.06
    assert set(columns(9, 1)) == set(range(1, 7))
    assert set(columns(5, 2)) == {1, 2}


def test_walks_lead_from_column_one_to_beside_the_goal_in_single_steps() -> None:
    for seed in range(100):
        board = generator.board_with_boxes(random.Random(seed), 9, 3)
        for walk, goal, box in zip(board.walks, board.goals, board.boxes, strict=True):
            assert walk[0][1] == 1 and all(step[1] > 1 for step in walk[1:]) and box in walk
            for (row, column), (next_row, next_column) in zip(walk, [*walk[1:], goal], strict=True):
                assert abs(row - next_row) + abs(column - next_column) == 1 and next_column >= column
        taken = set().union(*board.walks) | board.margins
        assert not taken & set(generator.wall_cells(board))


@pytest.mark.parametrize(
    ("walk", "corners"),
    [
        ([(4, 3), (3, 3), (3, 4)], {(3, 2), (4, 2)}),  # up, then right
        ([(2, 3), (3, 3), (3, 4)], {(3, 2), (2, 2)}),  # down, then right
        ([(3, 2), (3, 3), (2, 3)], {(4, 3), (4, 2)}),  # right, then up
        ([(3, 2), (3, 3), (4, 3)], {(2, 3), (2, 2)}),  # right, then down
        ([(3, 2), (3, 3), (3, 4)], set()),  # straight on
        ([(3, 6), (3, 7), (2, 7)], set()),  # beside the goal column: not kept free
    ],
)
def test_cells_behind_a_bend_stay_free_for_the_robot(walk: list[Cell], corners: set[Cell]) -> None:
    assert set(generator.corner_cells(walk, 9)) == corners


def test_wall_segments_stop_at_cells_where_no_wall_may_stand() -> None:
    allowed = [(0, 1), (0, 2), (0, 4), (3, 4)]
    for seed in range(100):
        walls = generator.random_walls(random.Random(seed), 9, allowed, 1)
        assert walls in ({(0, 1)}, {(0, 2)}, {(0, 1), (0, 2)}, {(0, 4)}, {(3, 4)})
    assert generator.random_walls(random.Random(0), 9, allowed, 5) == set(allowed)
    assert generator.random_walls(random.Random(0), 9, [], 1) == set()


def test_adjacency_is_the_whole_grid_and_the_robots_cell_is_clear() -> None:
    drawn = problem(0, 5, 2, 4)
    assert drawn.init[:2] == [("adjacent", "f0-0f", "f0-1f", "right"), ("adjacent", "f0-0f", "f1-0f", "down")]
    assert len(drawn.args("adjacent")) == 4 * 5 * 4
    steps = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
    for here, there, direction in drawn.args("adjacent"):
        assert (cell(there)[0] - cell(here)[0], cell(there)[1] - cell(here)[1]) == steps[direction]
    robot = drawn.args("at-robot")[0]
    assert drawn.init[drawn.init.index(("at-robot", *robot)) + 1] == ("clear", *robot)
    assert drawn.objects["DIR"] == ["up", "down", "left", "right"] and len(drawn.objects["LOC"]) == 25


def test_boxes_can_be_delivered_one_by_one_lowest_goal_first() -> None:
    for i, pair in enumerate(pair for pair in PAIRS if pair[1] <= 5):
        drawn = problem(i, *pair, i % 11)
        floor = {*cells(drawn, "clear"), *cells(drawn, "has-box")}
        boxes, goals = cells(drawn, "has-box"), [cell(name) for _, name in drawn.goal]
        robot = cells(drawn, "at-robot")[0]
        for number in reversed(range(len(boxes))):
            others = {box for j, box in enumerate(boxes) if j != number}
            robot = deliver(floor - others, robot, boxes[number], goals[number])
            boxes[number] = goals[number]


def deliver(floor: set[Cell], robot: Cell, box: Cell, goal: Cell) -> Cell:
    """Breadth-first over (robot, box), all else fixed; where the robot ends."""
    seen, frontier = {(robot, box)}, deque([(robot, box)])
    while frontier:
        (row, column), box = frontier.popleft()
        if box == goal:
            return row, column
        for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            step = (row + down, column + right)
            pushed = (step[0] + down, step[1] + right) if step == box else box
            if step in floor and pushed in floor and (step, pushed) not in seen:
                seen.add((step, pushed))
                frontier.append((step, pushed))
    raise AssertionError("a box cannot reach its goal")


def test_a_class_without_boards_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "MAX_RESTARTS", 3)
    with pytest.raises(InputError, match="grid=14 boxes=14"):
        generator.generate(random.Random(0), grid=14, boxes=14, walls=0)
