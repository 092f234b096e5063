"""Classical planners on ADL domains: they get the user's files, and their plans are valid for these."""

import random

import pytest

from oclgen.classical.planners import PLANNERS
from oclgen.errors import UnsupportedError
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.task import PddlTask
from oclgen.search.anytime import Budget, Counters
from oclgen.shorten.shorten import shorten
from tests.pddl.adl_samples import DOMAINS, adl_sample, lift_problem
from tests.pddl.samples import random_walk


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("planner", ["lama-first", "bfs"])
def test_a_planner_solves_an_adl_problem(planner: str, name: str) -> None:
    domain, problem = adl_sample(name, 0)
    (plan,) = PLANNERS[planner].plans(domain, problem, Budget(60))
    assert validate(domain, problem, plan).valid


def test_a_search_that_cannot_read_the_conditions_says_so() -> None:
    domain, problem = adl_sample("lift", 0)
    with pytest.raises(UnsupportedError, match=r"^lmcut does not support \w+.*, which this problem needs"):
        list(PLANNERS["lmcut"].plans(domain, problem, Budget(60)))


@pytest.mark.parametrize("planner", ["lama-first", "bfs"])
def test_windows_of_an_adl_plan_are_planned_anew(planner: str) -> None:
    domain, problem = DOMAINS["lift"][0], lift_problem(random.Random(3), 4, 3)
    task = PddlTask(domain, problem)
    walk = next(
        plan for seed in range(1000) if (plan := goal_walk(task, random.Random(seed))) is not None and len(plan) > 20
    )
    plans = list(shorten(task, walk, Budget(60), Counters(), PLANNERS[planner]))
    best = task.shortest_plan()
    assert best is not None and len(plans[-1]) == len(best)
    assert all(validate(domain, problem, plan).valid for plan in plans)


def goal_walk(task: PddlTask, rng: random.Random) -> tuple[tuple[str, ...], ...] | None:
    """A random walk that ends at a goal, if it meets one."""
    actions: list[tuple[str, ...]] = []
    for state, action in random_walk(task, 100, rng):
        if task.is_goal(state):
            return tuple(actions)
        actions.append(action)
    return None
