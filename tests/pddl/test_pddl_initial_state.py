import random

import pytest

from oclgen.domains import catalog
from oclgen.interfaces import State
from oclgen.pddl.initial_state import problem_from
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
