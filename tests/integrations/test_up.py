"""The Unified Planning engine: right answers on Unified Planning's own problems, typed results, warm start."""

import io
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("unified_planning", reason="needs the extra `up`")

from unified_planning.engines import AnytimeGuarantee
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.environment import Environment
from unified_planning.exceptions import UPUsageError
from unified_planning.io import PDDLReader
from unified_planning.model import Problem
from unified_planning.model.metrics import MinimizeSequentialPlanLength
from unified_planning.plans import SequentialPlan
from unified_planning.shortcuts import PlanValidator, get_environment
from unified_planning.test.examples import get_example_problems

from oclgen.domains import catalog
from oclgen.pddl.plan_file import format_plan
from oclgen.planner import prepare
from oclgen.search.anytime import Budget, Counters, run
from oclgen.up import OclgenEngine, register

SPEC = catalog.load("blocksworld")
TINY = (
    "(define (domain switch) (:predicates (on) (off))"
    " (:action turn :parameters () :precondition (on) :effect (and (not (on)) (off))))"
)


@pytest.fixture(autouse=True)
def no_credits() -> None:
    get_environment().credits_stream = None


def blocks(count: int, metric: bool = True) -> tuple[Problem, str]:
    text = catalog.draw(SPEC, 3, 0, catalog.overrides(SPEC, [f"blocks={count}"])).text
    problem = PDDLReader().parse_problem_string(SPEC.domain_text, text)
    if metric:
        problem.add_quality_metric(MinimizeSequentialPlanLength())
    return problem, text


def switch(goal: str, init: str = "(on)") -> Problem:
    text = f"(define (problem p) (:domain switch) (:init {init}) (:goal {goal}))"
    return PDDLReader().parse_problem_string(TINY, text)


def is_valid(problem: Problem, plan: SequentialPlan) -> bool:
    with PlanValidator(problem_kind=problem.kind) as validator:
        return bool(validator.validate(problem, plan))


def unchecked() -> OclgenEngine:
    engine = OclgenEngine()
    engine.skip_checks = True
    return engine


def test_all_problems_of_unified_planning_are_answered_correctly_or_not_supported() -> None:
    answered = 0
    for name, case in get_example_problems().items():
        result = unchecked().solve(case.problem, timeout=20)
        if result.status is Status.UNSUPPORTED_PROBLEM:
            continue
        answered += 1
        assert OclgenEngine.supports(case.problem.kind), name
        assert case.solvable, name
        assert result.status is Status.SOLVED_SATISFICING, name
        assert is_valid(case.problem, result.plan), name
    assert answered >= 11


def test_an_unsolvable_problem_is_proved_so() -> None:
    assert OclgenEngine().solve(switch("(on)", init="(off)"), timeout=20).status is Status.UNSOLVABLE_PROVEN


def test_a_problem_without_objects_that_is_solved_at_the_start_has_the_empty_plan() -> None:
    result = OclgenEngine().solve(switch("(on)"), timeout=20)
    assert result.status is Status.SOLVED_SATISFICING
    assert result.plan.actions == []


def test_the_anytime_mode_yields_shorter_plans_and_then_one_final_status() -> None:
    problem, _ = blocks(4)
    log = io.StringIO()
    results = list(OclgenEngine().get_solutions(problem, timeout=30, output_stream=log))
    *improving, final = results
    lengths = [len(result.plan.actions) for result in improving]
    assert lengths
    assert lengths == sorted(set(lengths), reverse=True)
    assert all(result.status is Status.INTERMEDIATE for result in improving)
    assert final.status is Status.SOLVED_OPTIMALLY
    assert is_valid(problem, final.plan)
    assert log.getvalue().count("Plan length:") == len(improving)


def test_a_plan_is_called_optimal_only_where_length_is_the_metric() -> None:
    problem, _ = blocks(3, metric=False)
    assert OclgenEngine().solve(problem, timeout=30).status is Status.SOLVED_SATISFICING


def test_a_timeout_without_a_plan_is_a_timeout() -> None:
    assert OclgenEngine().solve(blocks(20)[0], timeout=0.0).status is Status.TIMEOUT


def warm_start(problem: Problem, text: str) -> Any:
    budget, counters = Budget(30), Counters()
    found = run(prepare(SPEC.domain_text, text, method="lama-first").plans(budget, counters), budget, counters)
    assert found.plan is not None
    return PDDLReader().parse_plan_string(problem, format_plan(found.plan))


def test_a_warm_start_comes_out_first_and_never_longer() -> None:
    problem, text = blocks(8)
    given = warm_start(problem, text)
    results = list(OclgenEngine().get_solutions(problem, timeout=3, warm_start_plan=given))
    assert results[0].plan == given
    assert len(results[-1].plan.actions) <= len(given.actions)
    assert is_valid(problem, results[-1].plan)


def test_a_warm_start_that_is_not_valid_is_refused() -> None:
    problem, text = blocks(8)
    given = SequentialPlan(warm_start(problem, text).actions[1:])
    with pytest.raises(UPUsageError, match="not valid"):
        OclgenEngine().solve(problem, timeout=3, warm_start_plan=given)


def test_unknown_methods_are_usage_errors() -> None:
    with pytest.raises(UPUsageError, match="unknown method"):
        OclgenEngine(method="magic").solve(blocks(3)[0], timeout=3)


def test_the_engine_registers_by_a_call_and_by_up_ini(tmp_path: Path) -> None:
    environment = Environment()
    register(environment)
    assert environment.factory.engine("oclgen") is OclgenEngine
    ini = tmp_path / "up.ini"
    ini.write_text("[engine oclgen]\nmodule_name: oclgen.up\nclass_name: OclgenEngine\n")
    other = Environment()
    other.factory.configure_from_file(str(ini))
    assert other.factory.engine("oclgen") is OclgenEngine


def test_growing_quality_is_ensured_and_optimal_plans_are_not() -> None:
    assert OclgenEngine.ensures(AnytimeGuarantee.INCREASING_QUALITY)
    assert not OclgenEngine.ensures(AnytimeGuarantee.OPTIMAL_PLANS)
