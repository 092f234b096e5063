"""Pictures of plans: every shape at its place in every step."""

from functools import cache

import pytest

from oclgen import solve
from oclgen.domains import catalog
from oclgen.domains.shapes import Scene
from oclgen.interfaces import Plan
from oclgen.pddl.task import PddlTask
from oclgen.serve.jobs.picture import draw, maker, trajectory

SMALL = {
    "blocksworld": ["blocks=5"],
    "labyrinth": ["size=3"],
    "logistics": ["cities=2", "city_size=2", "packages=2", "airplanes=1"],
    "sokoban": ["grid=7", "boxes=1", "walls=2"],
}


@cache
def solved(name: str) -> tuple[str, str, Plan]:
    spec = catalog.load(name)
    problem = catalog.draw(spec, 5, 1, catalog.overrides(spec, SMALL[name])).text
    plan = solve(spec.domain_text, problem, method="bfs", time_limit=None).plan
    assert plan is not None
    return spec.domain_text, problem, plan


def scenes_of(name: str) -> list[Scene]:
    domain, problem, plan = solved(name)
    task = PddlTask(domain, problem)
    scenes = maker(catalog.load(name))
    assert scenes is not None
    return scenes(trajectory(task, plan), task.goal[0], task.objects)


def test_every_shipped_domain_has_a_picture() -> None:
    assert all(maker(catalog.load(name)) is not None for name in catalog.names())


@pytest.mark.parametrize("name", SMALL)
def test_each_step_changes_something_and_no_shape_comes_or_goes(name: str) -> None:
    domain, problem, plan = solved(name)
    drawn = draw(domain, problem, plan)
    assert drawn["domain"] == name
    assert len(drawn["steps"]) == len(plan) > 0
    assert all(drawn["steps"])
    for step in drawn["steps"]:
        assert set(step) <= set(drawn["scene"])


@pytest.mark.parametrize("name", SMALL)
def test_all_shapes_are_within_the_view(name: str) -> None:
    domain, problem, plan = solved(name)
    drawn = draw(domain, problem, plan)
    left, top, width, height = drawn["view"]
    for shape in [*drawn["scene"].values(), *(shape for step in drawn["steps"] for shape in step.values())]:
        assert left <= shape["x"] <= left + width
        assert top <= shape["y"] <= top + height


@pytest.mark.parametrize("name", ["blocksworld", "labyrinth", "sokoban"])
def test_no_two_things_are_at_the_same_place(name: str) -> None:
    for scene in scenes_of(name):
        solid = [shape for shape in scene.values() if shape.kind.split()[0] in ("block", "card", "box", "wall")]
        assert len({(shape.x, shape.y) for shape in solid}) == len(solid)


def test_blocks_are_home_at_the_end_and_match_the_goal_beside_them() -> None:
    scene = scenes_of("blocksworld")[-1]
    wanted = {key.removeprefix("goal "): shape for key, shape in scene.items() if shape.kind == "ghost"}
    assert wanted
    for block, ghost in wanted.items():
        assert scene[block].kind == "block home"
        assert scene[block].y == ghost.y


def test_packages_and_boxes_are_home_at_the_end() -> None:
    packages = [shape.kind for shape in scenes_of("logistics")[-1].values() if shape.kind.startswith("package")]
    assert packages == ["package home"] * 2
    boxes = [shape.kind for shape in scenes_of("sokoban")[-1].values() if shape.kind.startswith("box")]
    assert boxes == ["box home"]


def test_the_robot_leaves_through_the_exit() -> None:
    first, *_, last = scenes_of("labyrinth")
    assert (last["robot"].x, last["robot"].y) == (last["exit"].x, last["exit"].y)
    assert (first["robot"].x, first["robot"].y) != (first["exit"].x, first["exit"].y)


def test_a_domain_without_pictures_and_names_that_say_nothing_are_refused() -> None:
    domain, problem, plan = solved("sokoban")
    assert "refusal" in draw(domain.replace("clear", "empty"), problem.replace("clear", "empty"), plan)
    renamed = tuple(tuple(word.replace("f", "cell") for word in action) for action in plan)
    assert "refusal" in draw(
        domain, problem.replace(" f", " cell").replace("f ", "cell ").replace("f)", "cell)"), renamed
    )
