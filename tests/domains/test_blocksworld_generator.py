import math
import random
from collections import Counter
from itertools import permutations, product

import pytest

from oclgen.domains import catalog
from oclgen.domains.blocksworld import generator
from tests.domains.reading import fits, parts

State = tuple[tuple[int, int], ...]


def all_states(blocks: int) -> set[State]:
    """By brute force: every way to put each block on the table or on another, without cycles or sharing."""
    found = set()
    for order in permutations(range(1, blocks + 1)):
        for cuts in product((False, True), repeat=blocks - 1):
            below = {order[0]: 0}
            for lower, upper, cut in zip(order, order[1:], cuts, strict=False):
                below[upper] = 0 if cut else lower
            found.add(tuple(sorted(below.items())))
    return found


def draw_state(rng: random.Random, blocks: int) -> State:
    return tuple(sorted(generator.random_state(rng, blocks).items()))


@pytest.mark.parametrize(("blocks", "count"), [(3, 13), (4, 73), (5, 501)])
def test_states_are_uniform_over_all_states(blocks: int, count: int) -> None:
    states = all_states(blocks)
    assert len(states) == count
    rng = random.Random(blocks)
    assert fits((draw_state(rng, blocks) for _ in range(30 * count)), dict.fromkeys(states, 1.0))


def test_initial_state_and_goal_are_independent() -> None:
    rng = random.Random(1)
    pairs = ((draw_state(rng, 3), draw_state(rng, 3)) for _ in range(5000))
    assert fits(pairs, dict.fromkeys(product(all_states(3), repeat=2), 1.0))


def test_tower_counts_follow_the_number_of_states_with_that_many_towers() -> None:
    rng = random.Random(2)
    towers = (list(generator.random_state(rng, 6).values()).count(0) for _ in range(30_000))
    by_count = Counter(sum(below == 0 for _, below in state) for state in all_states(6))
    assert sum(by_count.values()) == 4051
    assert fits(towers, {count: float(weight) for count, weight in by_count.items()})


def test_block_counts_are_weighted_by_their_logarithm() -> None:
    spec = catalog.load("blocksworld")
    rng = random.Random(3)
    counts = (catalog.sample_parameters(spec, rng)["blocks"] for _ in range(20_000))
    assert fits(counts, {n: math.log(n) for n in range(3, 26)})


def test_goal_already_true_as_often_as_in_the_public_generator() -> None:
    def share(blocks: int) -> float:
        problems = [parts(generator.generate(random.Random(seed), blocks=blocks)) for seed in range(3000)]
        return sum(set(problem.goal) <= set(problem.init) for problem in problems) / len(problems)

    assert share(3) == pytest.approx(0.21, abs=0.03)
    assert share(4) == pytest.approx(0.07, abs=0.02)


def test_init_is_a_complete_state_and_goal_only_on_atoms() -> None:
    for seed in range(200):
        problem = parts(generator.generate(random.Random(seed), blocks=7))
        names = [f"b{i}" for i in range(1, 8)]
        assert problem.objects == {"": names}
        assert problem.init[0] == ("arm-empty",)
        places = [atom for atom in problem.init if atom[0] in ("on", "on-table")]
        assert problem.init[1:8] == places and [atom[1] for atom in places] == names
        covered = {atom[2] for atom in places if atom[0] == "on"}
        assert problem.init[8:] == [("clear", name) for name in names if name not in covered]
        assert {atom[0] for atom in problem.goal} <= {"on"}
        assert len({atom[2] for atom in problem.goal}) == len(problem.goal)


def test_goal_with_all_blocks_on_the_table_is_an_empty_conjunction() -> None:
    problem = parts(generator.generate(random.Random(0), blocks=1))
    assert problem.goal == [] and problem.init == [("arm-empty",), ("on-table", "b1"), ("clear", "b1")]


def test_numbers_of_states_beyond_floats_do_no_harm() -> None:
    state = generator.random_state(random.Random(4), 200)
    assert sorted(state) == list(range(1, 201))
