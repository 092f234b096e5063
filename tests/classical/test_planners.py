"""The registry of classical planners: what an entry claims is what its searches do."""

import pytest

from oclgen.classical.planners import OPTIMAL, PLANNERS, TEACHERS
from oclgen.cli.learning.data import command
from oclgen.domains import catalog
from oclgen.planner import METHODS, is_anytime
from oclgen.search.anytime import Budget, Counters, Ending, run

SPEC = catalog.load("blocksworld")
PROBLEM = catalog.draw(SPEC, 1, 0, catalog.overrides(SPEC, ["blocks=5"])).text


@pytest.mark.parametrize("name", PLANNERS)
def test_an_optimal_planner_ends_with_a_proof_and_a_planner_of_one_plan_ends_by_itself(name: str) -> None:
    budget = Budget(60.0)
    result = run(PLANNERS[name].plans(SPEC.domain_text, PROBLEM, budget), budget, Counters())
    assert result.plan is not None
    proved = result.ending is Ending.EXHAUSTED
    assert proved is (PLANNERS[name].optimal or PLANNERS[name].anytime)
    assert len(result.trace) == 1 or PLANNERS[name].anytime


@pytest.mark.parametrize("name", PLANNERS)
def test_every_classical_planner_is_a_method_with_plan_files_as_it_needs_them(name: str) -> None:
    assert PLANNERS[name].name == name
    assert name in METHODS
    assert is_anytime(name) is PLANNERS[name].anytime


def test_optimal_planners_and_teachers_are_those_that_say_so() -> None:
    assert OPTIMAL == ("lmcut", "bfs")
    assert set(TEACHERS) == {name for name, planner in PLANNERS.items() if planner.teaches}
    [option] = [each for each in command.params if each.name == "teacher"]
    assert set(TEACHERS) < set(getattr(option.type, "choices", ()))
