"""What the generators print is read by the rest of the house, and is what the domain files mean."""

import random

import pytest

from oclgen.domains import catalog
from oclgen.domains.labyrinth import generator
from oclgen.pddl.task import PddlTask


@pytest.mark.parametrize("name", catalog.names())
def test_every_drawn_instance_is_a_task(name: str) -> None:
    spec = catalog.load(name)
    for index in range(25):
        drawn = catalog.draw(spec, 11, index)
        task = PddlTask(spec.domain_text, drawn.text)
        assert (task.name, task.domain_name) == (drawn.name, spec.defaults.domain)
        assert task.applicable(task.initial_state)


@pytest.mark.parametrize("name", catalog.names())
def test_predicates_left_out_of_prompts_are_static(name: str) -> None:
    spec = catalog.load(name)
    task = PddlTask(spec.domain_text, catalog.draw(spec, 0, 0).text)
    assert set(spec.defaults.encoding.left_out) <= task.static_predicates


@pytest.mark.parametrize("name", catalog.names())
def test_every_type_of_an_object_has_a_pool(name: str) -> None:
    spec = catalog.load(name)
    listed = {kind for pool in spec.defaults.encoding.pool for kind in pool.types}
    task = PddlTask(spec.domain_text, catalog.draw(spec, 0, 1).text)
    constants = {"n", "e", "s", "w"} if name == "labyrinth" else set()
    assert {kind for each, kind in task.objects.items() if each not in constants} <= listed


def test_a_scrambled_labyrinth_has_a_plan() -> None:
    board = generator.walkable_board(random.Random(6), 3)
    assert generator.scramble(random.Random(6), board, 1)
    task = PddlTask(catalog.load("labyrinth").domain_text, generator.board_text(board))
    frontier, seen = [task.initial_state], {task.initial_state}
    while frontier and not any(map(task.is_goal, frontier)):
        successors = (task.apply(state, action) for state in frontier for action in task.applicable(state))
        frontier = list(dict.fromkeys(state for state in successors if state is not None and state not in seen))
        seen.update(frontier)
    assert frontier, "no plan"
