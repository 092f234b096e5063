"""One search on one problem, for teachers, proofs, improvement loops and evaluations.

Every plan it returns has passed the independent validator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oclgen.classical.planners import PLANNERS
from oclgen.errors import InvalidPlanError, UnsupportedError
from oclgen.pddl.checking.validate import validate
from oclgen.planner import Observer, import_all, prepare
from oclgen.search.anytime import Budget, Counters, SearchResult, run


@dataclass(frozen=True, slots=True)
class Attempt:
    """A problem, a method and limits."""

    domain_text: str
    problem_text: str
    method: str
    model: Path | None = None
    """None is the shipped model of the domain."""
    profile: str = "extended"
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    iterations: int | None = None
    memory_bytes: int | None = None
    seed: int = 0


def run_attempt(attempt: Attempt, observer: Observer | None = None) -> SearchResult | None:
    """The record of the search; None if the model's vocabulary cannot express the problem."""
    import_all()  # so that the first search of a worker has as much time as the others
    budget, counters = Budget(attempt.seconds, attempt.iterations, attempt.memory_bytes), Counters()
    try:
        prepared = prepare(
            attempt.domain_text,
            attempt.problem_text,
            method=attempt.method,
            model=attempt.model,
            profile=attempt.profile,
            settings=attempt.settings,
        )
        return run(prepared.plans(budget, counters, attempt.seed, observer), budget, counters)
    except UnsupportedError:
        return None


def run_classical(
    planner: str,
    domain_text: str,
    problem_text: str,
    *,
    seconds: float,
    memory_bytes: int,
    translate_options: Sequence[str] = (),
    scratch: Path | None = None,
) -> SearchResult:
    """A classical planner within its limits; its files are made in `scratch`."""
    budget, counters = Budget(seconds, memory_bytes=memory_bytes), Counters()
    options: dict[str, Any] = {"translate_options": translate_options, "scratch": scratch}
    plans = PLANNERS[planner].plans(domain_text, problem_text, budget, counters=counters, **options)
    result = run(plans, budget, counters)
    if result.plan is not None:
        verdict = validate(domain_text, problem_text, result.plan)
        if not verdict.valid:
            raise InvalidPlanError(f"the plan of {planner} is not valid: {verdict.reason}")
    return result
