"""`oclgen demo`: one problem of each domain, drawn, solved, validated and shown."""

import textwrap
from dataclasses import dataclass
from pathlib import Path

from oclgen.domains import catalog
from oclgen.interfaces import Plan
from oclgen.model_folders import has_model
from oclgen.pddl.checking.validate import Validator
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.reading.problem import read_problem
from oclgen.planner import prepare
from oclgen.search.anytime import Budget, Counters

SEED = 2026
WIDTH = 110
SHOWN = 40
"""Actions shown of a plan at most."""
VALID = "Plan valid"
NO_MODEL = "no model is shipped for this domain (oclgen learn makes one)"


@dataclass(frozen=True, slots=True)
class Show:
    """A problem and what came of it."""

    domain: str
    picture: str
    improvements: tuple[tuple[float, int], ...] = ()
    plan: Plan | None = None
    verdict: str = "no plan"

    @property
    def failed(self) -> bool:
        return self.verdict not in (VALID, NO_MODEL)


def show(domain: str | Path, seconds: float) -> Show:
    """Solve the problem that a domain shows; a domain is the name of a shipped one or a folder like theirs."""
    spec = catalog.load(domain)
    drawn = catalog.draw(spec, SEED, 0, spec.defaults.demo)
    problem = read_problem(spec.domain_text, drawn.text)
    picture = draw(spec, problem)
    if not has_model(problem.domain):
        return Show(spec.name, picture, verdict=NO_MODEL)
    budget, trace, plan = Budget(seconds), [], None
    for plan in prepare(spec.domain_text, drawn.text).plans(budget, Counters()):
        trace.append((budget.elapsed(), len(plan)))
    return Show(spec.name, picture, tuple(trace), plan, verdict(problem, plan))


def verdict(problem: ProblemInfo, plan: Plan | None) -> str:
    if plan is None:
        return "no plan"
    checked = Validator.of(problem).check(plan)
    return VALID if checked.valid else f"INVALID: {checked.reason}"


def draw(spec: catalog.DomainSpec, problem: ProblemInfo) -> str:
    """The domain's own picture of the initial state and the goal, or the goal alone where it has none."""
    if spec.picture is not None:
        return spec.picture(problem.init, problem.goal[0])
    goal = " ".join(f"({' '.join(atom)})" for atom in sorted(problem.goal[0]))
    return textwrap.fill(f"{len(problem.objects)} objects; goal: {goal}", WIDTH)


def described(result: Show) -> list[str]:
    """The lines to print for one domain."""
    lengths = "  ".join(f"{length} ({seconds:.1f}s)" for seconds, length in result.improvements)
    lines = [*(f"  {line}" for line in result.picture.splitlines()), ""]
    lines.append(f"  oclgen: {result.verdict}; plan length over time: {lengths or '-'}")
    plan = result.plan or ()
    actions = "; ".join(" ".join(action) for action in plan[:SHOWN])
    if len(plan) > SHOWN:
        actions += f"; and {len(plan) - SHOWN} more"
    return [*lines, *textwrap.wrap(actions, WIDTH, initial_indent="    ", subsequent_indent="    "), ""]
