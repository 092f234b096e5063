"""Two independent hand-empty states, each uniform over all sets of ordered towers of n labelled blocks.

The first state is the initial one; of the second only the `on` atoms are the goal, so the bottom blocks of goal
towers stay unconstrained. Nothing is filtered: the goal may be empty or already true (one in five for 3 blocks,
one in a thousand for 7). Every instance is solvable. Paper: Appendix A, Blocksworld.
"""

import random
from functools import cache
from itertools import accumulate, pairwise
from math import comb, factorial

from oclgen.domains.problem import problem_text

Below = dict[int, int]
"""What each block stands on: another block, or 0 for the table."""


def refusal(*, blocks: int) -> str | None:
    return "blocks must be at least 1" if blocks < 1 else None


def generate(rng: random.Random, *, blocks: int) -> str:
    initial, goal = random_state(rng, blocks), random_state(rng, blocks)
    return problem_text(
        "blocksworld-4ops", [(None, [f"b{block}" for block in range(1, blocks + 1)])], facts(initial), on_facts(goal)
    )


@cache
def tower_count_weights(blocks: int) -> tuple[int, ...]:
    """For t = 1..n the number of states with t towers: C(n-1, t-1) n! / t! (Lah numbers)."""
    counts = range(1, blocks + 1)
    return tuple(comb(blocks - 1, t - 1) * factorial(blocks) // factorial(t) for t in counts)


def random_state(rng: random.Random, blocks: int) -> Below:
    """Draw the tower count by its number of states, then cut a random order of the blocks at random gaps."""
    cumulative = list(accumulate(tower_count_weights(blocks)))
    pick = rng.randrange(cumulative[-1])  # exact: the numbers outgrow floats
    towers = 1 + sum(bound <= pick for bound in cumulative)
    order = list(range(1, blocks + 1))
    rng.shuffle(order)
    bottoms = {0, *rng.sample(range(1, blocks), towers - 1)}
    below = {order[0]: 0}
    for position, (lower, upper) in enumerate(pairwise(order), start=1):
        below[upper] = 0 if position in bottoms else lower
    return below


def facts(below: Below) -> list[str]:
    covered = set(below.values())
    places = [f"on b{block} b{below[block]}" if below[block] else f"on-table b{block}" for block in sorted(below)]
    return ["arm-empty", *places, *(f"clear b{block}" for block in sorted(below) if block not in covered)]


def on_facts(below: Below) -> list[str]:
    return [f"on b{block} b{below[block]}" for block in sorted(below) if below[block]]
