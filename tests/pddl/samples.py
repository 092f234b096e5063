"""Small problems for the PDDL tests: drawn from the four domains, or a delivery world that uses every feature."""

import random
from collections.abc import Iterator
from functools import cache

from oclgen.domains import catalog
from oclgen.interfaces import Action, State
from oclgen.pddl.task import PddlTask

SMALL = {
    "blocksworld": ["blocks=5"],
    "labyrinth": ["size=3", "rotations=2"],
    "logistics": ["cities=2", "city_size=2", "packages=3", "airplanes=1"],
    "sokoban": ["grid=6", "boxes=1", "walls=2"],
}

DELIVERY = """(define (domain delivery)
  (:requirements :adl :typing :action-costs)
  (:types place thing courier - object parcel letter - thing)
  (:constants depot - place)
  (:predicates (at ?x - (either thing courier) ?p - place) (road ?a ?b - place) (carried ?t - thing)
               (sealed ?t - parcel) (stamped ?l - letter))
  (:functions (total-cost) - number (toll ?a ?b - place) - number)
  (:action move :parameters (?c - courier ?a ?b - place)
    :precondition (and (at ?c ?a) (road ?a ?b) (not (= ?a ?b)))
    :effect (and (not (at ?c ?a)) (at ?c ?b) (increase (total-cost) (toll ?a ?b))))
  (:action take :parameters (?c - courier ?t - (either parcel letter) ?p - place)
    :precondition (and (at ?c ?p) (at ?t ?p) (not (carried ?t)))
    :effect (and (carried ?t) (not (at ?t ?p)) (increase (total-cost) 2)))
  (:action give :parameters (?c - courier ?t - thing)
    :precondition (and (at ?c depot) (carried ?t))
    :effect (and (not (carried ?t)) (at ?t depot))))
"""

ERRAND = """(define (problem errand) (:domain delivery)
  (:objects home shop - place bob - courier box - parcel note - letter misc - thing)
  (:init (at bob home) (road home shop) (road shop depot) (road depot depot) (at box shop) (at note shop) (sealed box)
         (at misc shop) (= (total-cost) 0) (= (toll home shop) 3) (= (toll shop depot) 4))
  (:goal (and (at box depot) (not (carried box)) (sealed box)))
  (:metric minimize (total-cost)))
"""

ERRAND_PLAN: tuple[Action, ...] = (
    ("move", "bob", "home", "shop"),
    ("take", "bob", "box", "shop"),
    ("move", "bob", "shop", "depot"),
    ("give", "bob", "box"),
)


@cache
def drawn(name: str, index: int) -> tuple[str, str]:
    """The domain text and a small problem text of one of the four domains."""
    spec = catalog.load(name)
    return spec.domain_text, catalog.draw(spec, 7, index, catalog.overrides(spec, SMALL[name])).text


def random_walk(task: PddlTask, steps: int, rng: random.Random) -> Iterator[tuple[State, Action]]:
    """States on the way and the action taken in each, from the initial state on."""
    state = task.initial_state
    for _ in range(steps):
        actions = task.applicable(state)
        if not actions:
            return
        action = rng.choice(actions)
        yield state, action
        following = task.apply(state, action)
        assert following is not None
        state = following
