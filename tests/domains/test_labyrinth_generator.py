import random
from collections import Counter
from itertools import pairwise

import pytest

from oclgen.domains.labyrinth import generator
from tests.domains.reading import Parts, fits, parts

STEPS = {"n": (0, -1, "s"), "e": (1, 0, "w"), "s": (0, 1, "n"), "w": (-1, 0, "e")}


def problem(seed: int, size: int, rotations: int) -> Parts:
    return parts(generator.generate(random.Random(seed), size=size, rotations=rotations))


def walkable(drawn: Parts) -> bool:
    """From the printed atoms alone: can the robot walk to the south-east corner?"""
    cards = {(int(x[3:]), int(y[3:])): card for card, x, y in drawn.args("card-at")}
    blocked = set(drawn.args("blocked"))
    frontier, reached = [(0, 0)], {(0, 0)}
    while frontier:
        x, y = frontier.pop()
        for side, (dx, dy, facing) in STEPS.items():
            other = (x + dx, y + dy)
            if other not in cards or other in reached:
                continue
            if (cards[x, y], side) not in blocked and (cards[other], facing) not in blocked:
                reached.add(other)
                frontier.append(other)
    return max(cards) in reached


@pytest.mark.parametrize("size", [3, 4, 5])
def test_the_exit_can_be_walked_to_without_rotations_and_never_with(size: int) -> None:
    assert all(walkable(problem(seed, size, 0)) for seed in range(100))
    for rotations in range(1, 9):
        assert not any(walkable(problem(seed, size, rotations)) for seed in range(40))


def test_small_boards_that_no_rotation_can_break_are_redrawn() -> None:
    assert not any(walkable(problem(seed, 3, 6)) for seed in range(400))


def test_an_open_board_cannot_be_scrambled() -> None:
    board = generator.walkable_board(random.Random(0), 3)
    board.open_sides = [set("nesw") for _ in range(9)]
    assert not generator.scramble(random.Random(0), board, 1)


@pytest.mark.parametrize("size", [3, 4])
def test_corner_cards_never_move_and_the_exit_is_open(size: int) -> None:
    last = size * size - 1
    corners = {(0, 0): 0, (size - 1, 0): size - 1, (0, size - 1): last - size + 1, (size - 1, size - 1): last}
    for seed in range(100):
        drawn = problem(seed, size, 8)
        places = set(drawn.args("card-at"))
        assert {(f"card{card}", f"pos{x}", f"pos{y}") for (x, y), card in corners.items()} <= places
        assert drawn.args("robot-at") == [("card0",)]
        assert (f"card{last}", "s") not in drawn.args("blocked")
        assert drawn.goal == [("left",)]


def test_no_card_has_more_than_two_walls_and_each_place_has_one_card() -> None:
    for seed in range(100):
        drawn = problem(seed, 4, seed % 9)
        assert max(Counter(card for card, _ in drawn.args("blocked")).values()) <= 2
        assert sorted(card for card, _, _ in drawn.args("card-at")) == sorted(drawn.objects["card"])
        positions = [f"pos{i}" for i in range(4)]
        assert [place[1:] for place in drawn.args("card-at")] == [(x, y) for y in positions for x in positions]


def test_atoms_come_in_the_public_generators_order() -> None:
    drawn = problem(0, 3, 2)
    assert drawn.init[:4] == [
        ("max-pos", "pos2"),
        ("min-pos", "pos0"),
        ("next", "pos1", "pos0"),
        ("next", "pos2", "pos1"),
    ]
    assert [atom[0] for atom in drawn.init[4:13]] == ["card-at"] * 9
    assert drawn.init[-4:] == [
        ("robot-at", "card0"),
        ("=", "(total-cost)", "0"),
        ("=", "(move-robot-cost)", "1"),
        ("=", "(move-card)", "1"),
    ]
    order = [card for card, _, _ in drawn.args("card-at")]
    walls = [(order.index(card), "nesw".index(side)) for card, side in drawn.args("blocked")]
    assert walls == sorted(walls)


def test_openings_follow_repeated_passes_with_probability_one_quarter() -> None:
    """Sets of 2, 3, 4 open sides after passes that stop at two: solved exactly from 0 and 1 open sides."""

    def one_pass(closed: int) -> list[float]:
        return [
            {0: 1, 1: closed, 2: closed * (closed - 1) / 2, 3: closed * (closed - 1) * (closed - 2) / 6, 4: 1}[k]
            * 0.25**k
            * 0.75 ** (closed - k)
            for k in range(closed + 1)
        ]

    zero, one = one_pass(4), one_pass(3)
    from_one = {2: one[1] / (1 - one[0]), 3: one[2] / (1 - one[0]), 4: one[3] / (1 - one[0])}
    from_zero = {k: (zero[k] + zero[1] * from_one[k]) / (1 - zero[0]) for k in (2, 3, 4)}
    rng, counts = random.Random(1), []
    for _ in range(20_000):
        sides: set[str] = set()
        generator.open_random_sides(rng, sides)
        counts.append(len(sides))
    assert fits(counts, from_zero)


def test_paths_are_simple_and_treat_both_axes_alike() -> None:
    rng = random.Random(2)
    board = generator.walkable_board(rng, 4)
    paths = [generator.random_path(rng, board) for _ in range(4000)]
    for path in paths:
        assert path[0] == (0, 0) and path[-1] == (3, 3) and len(set(path)) == len(path)
        assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in pairwise(path))
    assert fits((path[1] for path in paths), {(1, 0): 1.0, (0, 1): 1.0})


def test_rotation_moves_a_line_by_one_and_its_opposite_undoes_it() -> None:
    board = generator.walkable_board(random.Random(3), 4)
    before = dict(board.cards)
    board.rotate("e", 1)
    assert [board.cards[x, 1] for x in range(4)] == [7, 4, 5, 6]
    board.rotate("w", 1)
    assert board.cards == before
    board.rotate("n", 2)
    assert [board.cards[2, y] for y in range(4)] == [6, 10, 14, 2]


def test_the_first_rotation_is_uniform_over_those_that_break_the_board() -> None:
    boards = (generator.walkable_board(random.Random(seed), 3) for seed in range(1000))
    board = next(board for board in boards if len(breaking(board)) == 4)
    start = dict(board.cards)
    rng, ends = random.Random(5), []
    for _ in range(2000):
        board.cards = dict(start)
        assert generator.scramble(rng, board, 1)
        ends.append(tuple(board.cards.values()))
    assert fits(ends, dict.fromkeys(breaking(board, start), 1.0))


def breaking(board: generator.Board, start: dict[tuple[int, int], int] | None = None) -> set[tuple[int, ...]]:
    """The layouts after one inner rotation that leaves the board unwalkable."""
    start = start or dict(board.cards)
    layouts = set()
    for direction in "nesw":
        moved = generator.Board(board.size, dict(start), board.open_sides)
        moved.rotate(direction, 1)
        if not moved.is_walkable():
            layouts.add(tuple(moved.cards.values()))
    return layouts


def test_no_rotation_undoes_the_one_before() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        board = generator.walkable_board(rng, 3)
        first = dict(board.cards)
        if generator.scramble(rng, board, 2):
            assert board.cards != first


def test_impossible_parameters_are_refused() -> None:
    assert generator.refusal(size=2, rotations=1) is not None
    assert generator.refusal(size=3, rotations=-1) is not None
