"""`PddlTask`: the `Task` protocol and what the rest of the package asks of a task."""

import itertools
import random
from pathlib import Path

import pytest

from oclgen.interfaces import Task
from oclgen.pddl.checking.validate import Validator
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask
from tests.pddl.random_domains import random_domain
from tests.pddl.samples import DELIVERY, ERRAND, ERRAND_PLAN, SMALL, drawn, random_walk


def test_a_task_satisfies_the_protocol_and_reaches_the_goal_along_a_plan() -> None:
    task: Task = PddlTask(DELIVERY, ERRAND)
    state = task.initial_state
    for action in ERRAND_PLAN:
        assert not task.is_goal(state)
        following = task.apply(state, action)
        assert following is not None
        state = following
    assert task.is_goal(state)


def test_a_task_describes_its_problem() -> None:
    task = PddlTask(DELIVERY, ERRAND)
    assert (task.name, task.domain_name) == ("errand", "delivery")
    assert list(task.objects) == ["depot", "home", "shop", "bob", "box", "note", "misc"]
    assert task.objects["box"] == "parcel"
    assert task.types["parcel"] == "thing" and task.types["object"] is None
    assert task.predicates == {"at": 2, "road": 2, "carried": 1, "sealed": 1, "stamped": 1}
    assert task.operators == {"move": 3, "take": 3, "give": 2}
    assert task.static_predicates == {"road", "sealed", "stamped"}
    assert ("sealed", "box") in task.static_atoms
    positive, negative = task.goal
    assert positive == {("at", "box", "depot"), ("sealed", "box")} and negative == {("carried", "box")}
    assert sorted(task.atoms(task.initial_state)) == [
        ("at", "bob", "home"),
        ("at", "box", "shop"),
        ("at", "misc", "shop"),
        ("at", "note", "shop"),
    ]


def test_either_in_parameters_means_one_of_the_types() -> None:
    task = PddlTask(DELIVERY, ERRAND)
    state = task.apply(task.initial_state, ERRAND_PLAN[0])
    assert state is not None
    taken = [action[2] for action in task.applicable(state) if action[0] == "take"]
    assert taken == ["box", "note"]


@pytest.mark.parametrize(
    "action",
    [
        (),
        ("fly",),
        ("move",),
        ("move", "bob", "home"),
        ("move", "bob", "home", "mars"),
        ("move", "box", "home", "shop"),
        ("move", "bob", "shop", "home"),
        ("MOVE", "bob", "home", "shop"),
        ("give", "bob", "box"),
    ],
)
def test_an_unknown_ill_typed_or_inapplicable_action_gives_no_state(action: tuple[str, ...]) -> None:
    task = PddlTask(DELIVERY, ERRAND)
    assert task.apply(task.initial_state, action) is None
    assert task.apply(task.initial_state, action) is None


@pytest.mark.parametrize("name", SMALL)
def test_states_reached_by_different_ways_are_equal_and_list_the_same_actions_in_the_same_order(name: str) -> None:
    first, second = PddlTask(*drawn(name, 0)), PddlTask(*drawn(name, 0))
    for state, _ in random_walk(first, 30, random.Random(1)):
        first.applicable(state)
    forward, backward = second.initial_state, first.initial_state
    for _, action in random_walk(second, 12, random.Random(2)):
        assert first.applicable(backward) == second.applicable(forward)
        forward, backward = second.apply(forward, action), first.apply(backward, action)
        assert set(first.atoms(backward)) == set(second.atoms(forward))
    again = first.initial_state
    assert again == first.initial_state and hash(again) == hash(first.initial_state)


def test_undoing_an_action_gives_back_an_equal_state() -> None:
    task = PddlTask(*drawn("blocksworld", 0))
    action = task.applicable(task.initial_state)[0]
    undo = {"pickup": "putdown", "unstack": "stack"}[action[0]]
    there = task.apply(task.initial_state, action)
    assert there is not None and there != task.initial_state
    back = task.apply(there, (undo, *action[1:]))
    assert back == task.initial_state and hash(back) == hash(task.initial_state)


def test_an_atom_that_an_action_deletes_and_adds_stays() -> None:
    task = PddlTask(*drawn("logistics", 0))
    truck, place = next(atom[1:] for atom in task.atoms(task.initial_state) if atom[1].startswith("t"))
    city = next(atom[2] for atom in task.static_atoms if atom[1] == place)
    assert task.apply(task.initial_state, ("drive-truck", truck, place, place, city)) == task.initial_state


def test_a_goal_on_a_static_fact_that_is_false_is_never_reached() -> None:
    task = PddlTask(DELIVERY, ERRAND.replace("(sealed box)))", "(stamped note)))"))
    state = task.initial_state
    for action in ERRAND_PLAN:
        following = task.apply(state, action)
        assert following is not None
        state = following
    assert not task.is_goal(state)


def test_upper_case_is_folded_everywhere() -> None:
    task = PddlTask(DELIVERY.upper(), ERRAND.upper())
    assert task.apply(task.initial_state, ERRAND_PLAN[0]) is not None
    assert read_domain(DELIVERY.upper()) == read_domain(DELIVERY)


def test_paths_and_texts_give_the_same_task(tmp_path: Path) -> None:
    domain, problem = tmp_path / "domain.pddl", tmp_path / "p.pddl"
    domain.write_text(DELIVERY.replace("\n", "\r\n"))
    problem.write_text("; a comment (\n" + ERRAND)
    for task in (PddlTask(domain, problem), PddlTask(str(domain), str(problem))):
        assert task.objects == PddlTask(DELIVERY, ERRAND).objects


def test_words_of_pddl_may_name_objects_and_types() -> None:
    domain = """(define (domain define) (:types number and) (:constants object - and) (:predicates (domain ?x))
      (:action either :parameters (?x - and) :precondition (not (domain ?x)) :effect (domain ?x)))"""
    problem = """(define (problem problem) (:domain define) (:objects not - and define - number)
      (:init (domain object)) (:goal (domain not)))"""
    task = PddlTask(domain, problem)
    assert task.applicable(task.initial_state) == (("either", "not"),)


@pytest.mark.parametrize("seed", range(60))
def test_task_and_validator_agree_on_every_action_of_random_domains(seed: int) -> None:
    rng = random.Random(seed)
    domain, problem = random_domain(rng)
    task, validator = PddlTask(domain, problem), Validator(domain, problem)
    every = [
        (name, *arguments)
        for name, arity in task.operators.items()
        for arguments in itertools.product(task.objects, repeat=arity)
    ]
    plan: list[tuple[str, ...]] = []
    for state, action in random_walk(task, 5, rng):
        assert frozenset(task.atoms(state)) == validator.states(plan)[-1]
        assert validator.check(plan).valid == task.is_goal(state)
        allowed = [each for each in every if validator.check([*plan, each]).step is None]
        assert tuple(sorted(allowed)) == task.applicable(state)
        assert [each for each in every if task.apply(state, each) is not None] == allowed
        plan.append(action)
