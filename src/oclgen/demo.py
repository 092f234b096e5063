"""`oclgen demo`: one problem of each domain, drawn, solved, validated and shown."""

import importlib
import textwrap
from collections.abc import Collection
from dataclasses import dataclass

from oclgen.domains import catalog
from oclgen.interfaces import Atom, Plan
from oclgen.pddl.problem import read_problem
from oclgen.pddl.validate import validate
from oclgen.planner import prepare
from oclgen.search.anytime import Budget, Counters

SIZES = {
    "blocksworld": ["blocks=12"],
    "labyrinth": ["size=4", "rotations=8"],
    "logistics": ["cities=6", "city_size=2", "packages=8", "airplanes=2"],
    "sokoban": ["grid=10", "boxes=3", "walls=6"],
}
SEED = 2026
WIDTH = 110


@dataclass(frozen=True, slots=True)
class Show:
    """What was drawn and what came of it."""

    domain: str
    picture: str
    improvements: tuple[tuple[float, int], ...]
    plan: Plan | None
    verdict: str


def show(name: str, seconds: float) -> Show:
    spec = catalog.load(name)
    drawn = catalog.draw(spec, SEED, 0, catalog.overrides(spec, SIZES[name]))
    budget, trace, plan = Budget(seconds), [], None
    for plan in prepare(spec.domain_text, drawn.text).plans(budget, Counters()):
        trace.append((budget.elapsed(), len(plan)))
    verdict = "no plan"
    if plan is not None:
        checked = validate(spec.domain_text, drawn.text, plan)
        verdict = "Plan valid" if checked.valid else f"INVALID: {checked.reason}"
    problem = read_problem(spec.domain_text, drawn.text)
    return Show(name, picture(name, problem.init, problem.goal[0]), tuple(trace), plan, verdict)


def picture(name: str, atoms: Collection[Atom], goal: Collection[Atom]) -> str:
    """The domain's own drawing of a state and its goal."""
    drawing = importlib.import_module(f"oclgen.domains.{name}.picture")
    text: str = drawing.picture(atoms, goal)
    return text


def described(result: Show) -> list[str]:
    """The lines to print for one domain."""
    course = "  ".join(f"{length} ({seconds:.1f}s)" for seconds, length in result.improvements)
    lines = [*(f"  {line}" for line in result.picture.splitlines()), ""]
    lines.append(f"  oclgen: {result.verdict}; plan length over time: {course or '-'}")
    actions = "; ".join(" ".join(action) for action in result.plan or ())
    return [*lines, *textwrap.wrap(actions, WIDTH, initial_indent="    ", subsequent_indent="    "), ""]
