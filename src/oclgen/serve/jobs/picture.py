"""A plan as a sequence of scenes, made in a child process: first all shapes, then what each step changes."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from oclgen.domains import catalog
from oclgen.domains.shapes import Scene, Scenes, Shape
from oclgen.errors import OclgenError
from oclgen.interfaces import Atom, Plan
from oclgen.model_folders import find_spec
from oclgen.pddl.plan_file import read_plan
from oclgen.pddl.task import PddlTask

MOST_SHAPES, MOST_STEPS = 3000, 3000
DEFAULTS = asdict(Shape("", 0, 0))


def draw_folder() -> None:
    """Draw `sas_plan` of the problem in this folder; print JSON."""
    try:
        drawn = draw(Path("domain.pddl").read_text(), Path("problem.pddl").read_text(), read_plan(Path("sas_plan")))
    except OclgenError as error:
        drawn = {"refusal": str(error)}
    json.dump(drawn, sys.stdout, separators=(",", ":"))


def draw(domain: str, problem: str, plan: Plan) -> dict[str, Any]:
    task = PddlTask(domain, problem)
    spec = find_spec(task.info.domain)
    scenes_of = None if spec is None else maker(spec)
    if spec is None or scenes_of is None:
        return {"refusal": "There are no pictures of this domain."}
    if len(plan) > MOST_STEPS or len(task.objects) > MOST_SHAPES:
        return {"refusal": "This plan is too large to draw."}
    types = dict(task.objects)
    try:
        scenes = scenes_of(trajectory(task, plan), task.goal[0], types)
    except (ValueError, KeyError, IndexError, StopIteration):
        return {"refusal": "The objects' names do not say where they are, so there is no picture."}
    return {"domain": spec.name, "view": view(scenes), "scene": plain(scenes[0]), "steps": changes(scenes)}


def maker(spec: catalog.DomainSpec) -> Scenes | None:
    """What makes scenes of a domain's states; None where its folder has no `scenes.py`."""
    path = spec.path / "scenes.py"
    scenes: Scenes | None = catalog.load_module(path).scenes if path.is_file() else None
    return scenes


def trajectory(task: PddlTask, plan: Plan) -> list[frozenset[Atom]]:
    """The atoms of each state along the plan."""
    state, static = task.initial_state, task.static_atoms
    states = [static.union(task.atoms(state))]
    for action in plan:
        following = task.apply(state, action)
        if following is None:
            raise OclgenError("the plan does not fit the problem")
        state = following
        states.append(static.union(task.atoms(state)))
    return states


def plain(scene: Scene) -> dict[str, dict[str, Any]]:
    """As JSON, without what is left at its default."""
    return {
        key: {name: value for name, value in asdict(shape).items() if value != DEFAULTS[name] or name in ("x", "y")}
        for key, shape in scene.items()
    }


def changes(scenes: Sequence[Scene]) -> list[dict[str, dict[str, Any]]]:
    """For each step the shapes that it moves or alters. No shape ever goes."""
    return [
        plain({key: shape for key, shape in after.items() if before.get(key) != shape})
        for before, after in pairwise(scenes)
    ]


def view(scenes: Sequence[Scene]) -> list[float]:
    """Left, top, width and height of all that will be seen."""
    shapes = {shape for scene in scenes for shape in scene.values()}
    left, top = min(shape.x for shape in shapes), min(shape.y for shape in shapes)
    right = max(shape.x + shape.width for shape in shapes)
    bottom = max(shape.y + shape.height for shape in shapes)
    return [left, top, right - left, bottom - top]
