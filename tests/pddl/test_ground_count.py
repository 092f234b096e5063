"""The number of ground actions: types and static preconditions, against a count by hand and by brute force."""

import itertools
import random

import pytest

from oclgen.domains import catalog
from oclgen.pddl.compiling import ground_count
from oclgen.pddl.model import Operator
from oclgen.pddl.reading.conditions import Literal, conjuncts
from oclgen.pddl.task import PddlTask
from tests.pddl.random_domains import random_domain

ROADS = """(define (domain roads) (:types place truck) (:constants hub - place)
  (:predicates (road ?a ?b - place) (at ?t - truck ?p - place) (toll ?p - place) (open))
  (:action drive :parameters (?t - truck ?a ?b - place) :precondition (and (at ?t ?a) (road ?a ?b))
    :effect (and (not (at ?t ?a)) (at ?t ?b)))
  (:action loop :parameters (?t - truck ?a - place) :precondition (and (at ?t ?a) (road ?a ?a)) :effect (at ?t hub))
  (:action home :parameters (?t - truck ?a - place) :precondition (and (road ?a hub) (open)) :effect (at ?t hub))
  (:action wait :parameters (?t - truck) :precondition () :effect (at ?t hub)))"""
MAP = """(define (problem map) (:domain roads) (:objects a b c - place s t - truck)
  (:init (road a b) (road b c) (road c hub) (road c c) (at s a) {open}) (:goal (at s c)))"""


def test_static_preconditions_rule_ground_actions_out() -> None:
    task = PddlTask(ROADS, MAP.format(open="(open)"))
    assert task.ground_action_bound == 2 * 4 + 2 * 1 + 2 * 1 + 2


def test_a_static_condition_without_arguments_that_is_false_leaves_no_action() -> None:
    task = PddlTask(ROADS, MAP.format(open=""))
    assert task.ground_action_bound == 2 * 4 + 2 * 1 + 0 + 2


def brute_force(task: PddlTask, operator: Operator) -> int:
    info, found = task.info, 0
    pools = [sorted(info.members(types)) for types in operator.types]
    literals = [each for each in conjuncts(operator.precondition) if isinstance(each, Literal)]
    static = [each.atom for each in literals if each.positive]
    static = [atom for atom in static if atom[0] in info.domain.static_predicates]
    for arguments in itertools.product(*pools):
        values = dict(zip(operator.parameters, arguments, strict=True))
        found += all((atom[0], *(values.get(term, term) for term in atom[1:])) in info.init for atom in static)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_count_is_that_of_trying_all_arguments(seed: int) -> None:
    task = PddlTask(*random_domain(random.Random(seed)))
    operators = task.info.domain.operators.values()
    assert task.ground_action_bound == sum(brute_force(task, operator) for operator in operators)


def test_conditions_with_too_many_rows_are_left_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground_count, "MOST_ROWS", 3)
    task = PddlTask(ROADS, MAP.format(open="(open)"))
    assert task.ground_action_bound == 2 * 4 * 4 + 2 * 1 + 2 * 1 + 2


def test_the_largest_logistics_problems_stay_below_the_papers_threshold() -> None:
    spec = catalog.load("logistics")
    largest = ["cities=50..50", "city_size=5..5", "packages=50..50", "airplanes=10..10"]
    problem = catalog.draw(spec, 1, 0, catalog.overrides(spec, largest)).text
    assert PddlTask(spec.domain_text, problem).ground_action_bound < 10**7
