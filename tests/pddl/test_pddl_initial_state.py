import random

import pytest

from oclgen.domains import catalog
from oclgen.interfaces import State
from oclgen.pddl.initial_state import goal_parts, problem_from, with_fewer_goals
from oclgen.pddl.reading.problem import read_problem
from oclgen.pddl.task import PddlTask

SMALL = {"blocksworld": "blocks=5", "labyrinth": "size=3", "logistics": "cities=2", "sokoban": "grid=6"}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_problem_from_another_state_differs_in_nothing_else(name: str) -> None:
    spec = catalog.load(name)
    drawn = catalog.draw(spec, 3, 0, catalog.overrides(spec, [SMALL[name]]))
    task, rng = PddlTask(spec.domain_text, drawn.text), random.Random(0)
    state: State | None = task.initial_state
    for _ in range(5):
        assert state is not None
        state = task.apply(state, rng.choice(task.applicable(state)))
    assert state is not None
    info = read_problem(spec.domain_text, problem_from(drawn.text, task.info.domain, task.atoms(state)))
    assert info.init == task.static_atoms | set(task.atoms(state))
    for same in ("name", "objects", "goal", "values", "minimizes_cost"):
        assert getattr(info, same) == getattr(task.info, same)


@pytest.mark.parametrize(("share", "kept"), [(0.0, 1), (0.4, 2), (1.0, 5)])
def test_a_problem_with_fewer_goals_differs_in_nothing_else(share: float, kept: int) -> None:
    spec = catalog.load("logistics")
    drawn = catalog.draw(spec, 3, 0, catalog.overrides(spec, ["cities=2", "packages=5"]))
    before = read_problem(spec.domain_text, drawn.text)
    after = read_problem(spec.domain_text, with_fewer_goals(drawn.text, share, random.Random(0)))
    assert after.goal[0] <= before.goal[0] and len(after.goal[0]) == kept and len(before.goal[0]) == 5
    for same in ("name", "objects", "init", "values", "minimizes_cost"):
        assert getattr(after, same) == getattr(before, same)


@pytest.mark.parametrize(("goal", "parts"), [("(a)", 1), ("(and (a))", 1), ("(and (a) (not (b)))", 2), ("()", 1)])
def test_the_parts_of_a_goal_are_those_of_its_conjunction(goal: str, parts: int) -> None:
    assert goal_parts(f"(define (problem p) (:domain d) (:init) (:goal {goal}))") == parts
