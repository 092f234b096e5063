"""oclgen as an engine of Unified Planning: one-shot and anytime planning, warm start, typed results.

    from unified_planning.shortcuts import OneshotPlanner
    import oclgen.up
    oclgen.up.register()
    with OneshotPlanner(name="oclgen") as planner:
        result = planner.solve(problem, timeout=10)

The engine supports exactly what oclgen can read and optimises plan length only. Any other problem is answered with
UNSUPPORTED_PROBLEM.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import unified_planning as up
from unified_planning.engines import (
    AnytimeGuarantee,
    Credits,
    Engine,
    OptimalityGuarantee,
    PlanGenerationResult,
)
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines.mixins import AnytimePlannerMixin, OneshotPlannerMixin
from unified_planning.engines.results import LogLevel, LogMessage
from unified_planning.exceptions import UPException, UPUsageError
from unified_planning.io import PDDLWriter
from unified_planning.model import AbstractProblem, Problem, ProblemKind
from unified_planning.plans import ActionInstance, SequentialPlan

from oclgen.errors import InputError, OclgenError, PddlError, UnsupportedError
from oclgen.interfaces import Plan
from oclgen.planner import prepare
from oclgen.search.anytime import Budget, Counters, Ending, Search

NAME = "oclgen"
SECONDS = 10.0
"""How long a one-shot search without a timeout goes on shortening its plan, as in `oclgen solve`."""
KIND = {
    "problem_class": ("ACTION_BASED",),
    "typing": ("FLAT_TYPING", "HIERARCHICAL_TYPING"),
    "conditions_kind": (
        *("NEGATIVE_CONDITIONS", "EQUALITIES", "DISJUNCTIVE_CONDITIONS"),
        *("EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS"),
    ),
    "effects_kind": ("CONDITIONAL_EFFECTS", "FORALL_EFFECTS"),
    "quality_metrics": ("PLAN_LENGTH",),
}


def register(environment: Any = None) -> None:
    """Make the engine known as `oclgen` to an environment (default: the global one)."""
    environment = environment or up.environment.get_environment()
    environment.factory.add_engine(NAME, "oclgen.up", "OclgenEngine")


@dataclass(frozen=True)
class Written:
    """A problem as PDDL texts, and the way back from their names."""

    problem: Problem
    writer: PDDLWriter

    def plan(self, plan: Plan) -> SequentialPlan:
        return SequentialPlan([self._step(*action) for action in plan], self.problem.environment)

    def _step(self, name: str, *arguments: str) -> ActionInstance:
        named = self.writer.get_item_named
        objects = [self.problem.environment.expression_manager.ObjectExp(named(argument)) for argument in arguments]
        return ActionInstance(named(name), tuple(objects))

    def steps(self, plan: Any) -> Plan:
        """A plan of Unified Planning in the texts' names."""
        if not isinstance(plan, SequentialPlan):
            raise UPUsageError(f"oclgen starts from a SequentialPlan, not from a {type(plan).__name__}")
        named = self.writer.get_pddl_name
        return tuple(
            (
                named(step.action).lower(),
                *(named(each.object()).lower() for each in step.actual_parameters),
            )
            for step in plan.actions
        )


class OclgenEngine(Engine, OneshotPlannerMixin, AnytimePlannerMixin):  # type: ignore[misc]
    """See `oclgen.solve` for the parameters; without `method` the model serves, or else a classical planner."""

    def __init__(
        self,
        method: str | None = None,
        model: str | Path | None = None,
        profile: str = "extended",
        settings: Mapping[str, Any] | None = None,
        memory_limit: int | None = None,
        seed: int = 0,
    ) -> None:
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        AnytimePlannerMixin.__init__(self)
        self._method, self._model, self._profile, self._settings = method, model, profile, settings
        self._memory_limit, self._seed = memory_limit, seed

    @property
    def name(self) -> str:
        return NAME

    @staticmethod
    def supported_kind() -> ProblemKind:
        kind = ProblemKind(version=2)
        for group, features in KIND.items():
            for feature in features:
                getattr(kind, f"set_{group}")(feature)
        return kind

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        return bool(problem_kind <= OclgenEngine.supported_kind())

    @staticmethod
    def satisfies(optimality_guarantee: OptimalityGuarantee) -> bool:
        return bool(optimality_guarantee is OptimalityGuarantee.SATISFICING)

    @staticmethod
    def ensures(anytime_guarantee: AnytimeGuarantee) -> bool:
        return bool(anytime_guarantee is AnytimeGuarantee.INCREASING_QUALITY)

    @staticmethod
    def get_credits(**_: Any) -> Credits:
        return Credits(
            NAME,
            "the authors of oclgen",
            "",
            "",
            "GPL-3.0-or-later",
            "A learned anytime planner.",
            "A learned anytime planner: it learns a domain from a classical planner's plans, then finds shorter plans.",
        )

    def _solve(
        self,
        problem: AbstractProblem,
        heuristic: Callable[[Any], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> PlanGenerationResult:
        return self._solve_with_params(problem, heuristic, timeout, output_stream)

    def _solve_with_params(
        self,
        problem: AbstractProblem,
        heuristic: Callable[[Any], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
        warm_start_plan: Any = None,
        **_: Any,
    ) -> PlanGenerationResult:
        if heuristic is not None:
            warnings.warn("oclgen does not use the given heuristic", stacklevel=3)
        budget = Budget(timeout, memory_bytes=self._memory_limit)
        result: PlanGenerationResult | None = None
        for result in self._results(problem, budget, output_stream, warm_start_plan):
            if timeout is None and result.plan is not None:
                budget.seconds = SECONDS
        assert result is not None
        return result

    def _get_solutions(
        self, problem: AbstractProblem, timeout: float | None = None, output_stream: IO[str] | None = None
    ) -> Iterator[PlanGenerationResult]:
        return self._get_solutions_with_params(problem, timeout, output_stream)

    def _get_solutions_with_params(
        self,
        problem: AbstractProblem,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
        warm_start_plan: Any = None,
        **_: Any,
    ) -> Iterator[PlanGenerationResult]:
        budget = Budget(timeout, memory_bytes=self._memory_limit)
        yield from self._results(problem, budget, output_stream, warm_start_plan)

    def _results(
        self, problem: AbstractProblem, budget: Budget, output_stream: IO[str] | None, warm_start_plan: Any
    ) -> Iterator[PlanGenerationResult]:
        """INTERMEDIATE for each better plan, then one final result."""
        if not isinstance(problem, Problem) or not self.supports(problem.kind):
            yield self._refusal(Status.UNSUPPORTED_PROBLEM, "oclgen does not support this kind of problem")
            return
        counters, best = Counters(), None
        try:
            written = Written(problem, PDDLWriter(problem))
            plans = self._plans(written, budget, counters, warm_start_plan, output_stream)
            while True:
                try:
                    best = written.plan(next(plans))
                except StopIteration as stop:
                    ending = stop.value
                    break
                log(output_stream, f"[t={budget.elapsed():.3f}s] Plan length: {len(best.actions)} step(s).")
                yield self._result(Status.INTERMEDIATE, best, budget, counters)
        except (UnsupportedError, PddlError, UPException) as error:
            if isinstance(error, UPUsageError):
                raise
            yield self._refusal(Status.UNSUPPORTED_PROBLEM, str(error))
        except InputError as error:
            raise UPUsageError(str(error)) from None
        except OclgenError as error:
            yield self._refusal(Status.INTERNAL_ERROR, str(error))
        else:
            yield self._result(status(best is not None, ending, problem), best, budget, counters)

    def _plans(
        self, written: Written, budget: Budget, counters: Counters, warm_start: Any, output_stream: IO[str] | None
    ) -> Search:
        domain, problem = written.writer.get_domain(), written.writer.get_problem()
        prepared = prepare(
            domain, problem, method=self._method, model=self._model, profile=self._profile, settings=self._settings
        )
        if prepared.note is not None:
            log(output_stream, prepared.note)
        start = None if warm_start is None else written.steps(warm_start)
        return prepared.plans(budget, counters, self._seed, start=start)

    def _result(
        self, status: Status, plan: SequentialPlan | None, budget: Budget, counters: Counters
    ) -> PlanGenerationResult:
        metrics = {"engine_internal_time": f"{budget.elapsed():.3f}"}
        metrics |= {name: str(number) for name, number in counters.as_dict().items()}
        return PlanGenerationResult(status, plan, self.name, metrics)

    def _refusal(self, status: Status, message: str) -> PlanGenerationResult:
        return PlanGenerationResult(status, None, self.name, log_messages=[LogMessage(LogLevel.ERROR, message)])


def status(solved: bool, ending: Ending, problem: Problem) -> Status:
    """The final status; a plan is optimal only with regard to a metric."""
    if solved:
        proved = ending is Ending.EXHAUSTED and problem.quality_metrics
        return Status.SOLVED_OPTIMALLY if proved else Status.SOLVED_SATISFICING
    return {
        Ending.EXHAUSTED: Status.UNSOLVABLE_PROVEN,
        Ending.TIME: Status.TIMEOUT,
        Ending.INTERRUPTED: Status.TIMEOUT,
        Ending.MEMORY: Status.MEMOUT,
    }.get(ending, Status.UNSOLVABLE_INCOMPLETELY)


def log(stream: IO[str] | None, line: str) -> None:
    if stream is not None:
        stream.write(line + "\n")
