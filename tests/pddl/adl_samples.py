"""Small domains that need ADL: conditions and effects over all riders, what is in a bag, disjunctive goals."""

import itertools
import random
from collections.abc import Callable

LIFT = """(define (domain lift)
  (:requirements :adl :typing)
  (:types rider floor - object guest staff - rider)
  (:predicates (above ?a ?b - floor) (lift-at ?f - floor) (starts ?r - rider ?f - floor) (wants ?r - rider ?f - floor)
               (inside ?r - rider) (served ?r - rider) (barred ?g - guest ?f - floor) (rivals ?a ?b - rider))
  (:action move :parameters (?from ?to - floor)
    :precondition (and (lift-at ?from) (or (above ?from ?to) (above ?to ?from))
                       (forall (?g - guest) (imply (inside ?g) (not (barred ?g ?to)))))
    :effect (and (not (lift-at ?from)) (lift-at ?to)))
  (:action stop :parameters (?f - floor)
    :precondition (and (lift-at ?f)
      (exists (?r - rider) (or (and (inside ?r) (wants ?r ?f))
                               (and (starts ?r ?f) (not (inside ?r)) (not (served ?r)))))
      (not (exists (?a ?b - rider) (and (rivals ?a ?b) (inside ?a) (starts ?b ?f) (not (served ?b))))))
    :effect (and
      (forall (?r - rider) (when (and (inside ?r) (wants ?r ?f)) (and (served ?r) (not (inside ?r)))))
      (forall (?r - rider) (when (and (starts ?r ?f) (not (inside ?r)) (not (served ?r))) (inside ?r))))))
"""

SATCHEL = """(define (domain satchel)
  (:requirements :adl :typing :action-costs)
  (:types place item - object heavy - item)
  (:constants home - place)
  (:predicates (at ?i - item ?p - place) (bag-at ?p - place) (in ?i - item) (path ?a ?b - place))
  (:functions (total-cost) - number (length ?a ?b - place) - number)
  (:action carry :parameters (?a ?b - place)
    :precondition (and (bag-at ?a) (or (path ?a ?b) (path ?b ?a) (= ?b home)) (not (= ?a ?b)))
    :effect (and (not (bag-at ?a)) (bag-at ?b) (increase (total-cost) (length ?a ?b))
                 (forall (?i - item) (when (in ?i) (and (not (at ?i ?a)) (at ?i ?b))))))
  (:action put-in :parameters (?i - item ?p - place)
    :precondition (and (bag-at ?p) (at ?i ?p) (not (in ?i)) (imply (exists (?h - heavy) (= ?h ?i))
                                                                   (forall (?h - heavy) (not (in ?h)))))
    :effect (in ?i))
  (:action take-out :parameters (?i - item)
    :precondition (in ?i)
    :effect (not (in ?i))))
"""

WORKSHOP = """(define (domain workshop)
  (:requirements :adl :typing)
  (:types part colour machine - object sprayer roller - machine)
  (:predicates (painted ?p - part ?c - colour) (smooth ?p - part) (has ?m - machine ?c - colour) (busy ?m - machine)
               (done ?p - part))
  (:action paint :parameters (?p - part ?c - colour ?m - machine)
    :precondition (and (not (busy ?m)) (has ?m ?c) (or (smooth ?p) (not (exists (?o - colour) (painted ?p ?o)))))
    :effect (and (busy ?m) (painted ?p ?c) (when (smooth ?p) (not (smooth ?p)))
                 (forall (?o - colour) (when (and (painted ?p ?o) (not (= ?o ?c))) (not (painted ?p ?o))))))
  (:action polish :parameters (?p - part)
    :precondition (or (not (smooth ?p)) (done ?p))
    :effect (and (smooth ?p) (not (done ?p))))
  (:action shift :parameters ()
    :precondition (exists (?m - machine) (busy ?m))
    :effect (and (forall (?m - machine) (not (busy ?m)))
                 (forall (?p - part ?c - colour) (when (and (painted ?p ?c) (smooth ?p)) (done ?p))))))
"""


def _problem(domain: str, objects: str, init: list[str], goal: str, rest: str = "") -> str:
    facts = "\n".join(init)
    return f"(define (problem drawn) (:domain {domain})\n(:objects {objects})\n(:init {facts})\n(:goal {goal}){rest})\n"


def lift_problem(rng: random.Random, floors: int = 3, riders: int = 3) -> str:
    names = [f"f{i}" for i in range(floors)]
    people = [f"r{i}" for i in range(riders)]
    guests = [each for each in people if rng.random() < 0.5]
    init = [f"(above f{j} f{i})" for i in range(floors) for j in range(i + 1, floors)]
    init.append(f"(lift-at {rng.choice(names)})")
    for each in people:
        start, end = rng.sample(names, 2)
        init += [f"(starts {each} {start})", f"(wants {each} {end})"]
        others = [name for name in names if name not in (start, end)]
        if each in guests and others and rng.random() < 0.3:
            init.append(f"(barred {each} {rng.choice(others)})")
    if rng.random() < 0.3:
        a, b = rng.sample(people, 2)
        init.append(f"(rivals {a} {b})")
    staff = [each for each in people if each not in guests]
    objects = f"{' '.join(names)} - floor {' '.join([*guests, '- guest']) if guests else ''}"
    objects += f" {' '.join([*staff, '- staff']) if staff else ''}"
    return _problem("lift", objects, init, "(forall (?r - rider) (served ?r))")


def satchel_problem(rng: random.Random, places: int = 3, items: int = 3) -> str:
    names = ["home", *(f"p{i}" for i in range(1, places))]
    things = [f"i{i}" for i in range(items)]
    init = [f"(path {a} {b})" for a, b in itertools.pairwise(names)]
    init += [f"(= (length {a} {b}) {rng.randint(1, 5)})" for a in names for b in names]
    init += [f"(bag-at {rng.choice(names)})", *(f"(at {each} {rng.choice(names)})" for each in things)]
    kinds = " ".join(f"{each} - {'heavy' if rng.random() < 0.4 else 'item'}" for each in things)
    goals = [f"(or {' '.join(f'(at {each} {place})' for place in rng.sample(names, 2))})" for each in things[:-1]]
    goals.append("(forall (?i - item) (not (in ?i)))")
    objects = f"{' '.join(names[1:])} - place {kinds}"
    rest = "\n(:metric minimize (total-cost))"
    return _problem("satchel", objects, [*init, "(= (total-cost) 0)"], f"(and {' '.join(goals)})", rest)


def workshop_problem(rng: random.Random, parts: int = 2, colours: int = 3) -> str:
    names, paints = [f"p{i}" for i in range(parts)], [f"c{i}" for i in range(colours)]
    machines = {"m0": "sprayer", "m1": "roller"}
    init = [f"(painted {each} {rng.choice(paints)})" for each in names if rng.random() < 0.6]
    init += [f"({rng.choice(['smooth', 'done'])} {each})" for each in names if rng.random() < 0.5]
    init += [f"(has {rng.choice(list(machines))} {each})" for each in paints]
    wanted = " ".join(f"(painted {each} {rng.choice(paints)})" for each in names)
    goal = f"(and {wanted} (exists (?p - part) (done ?p)) (imply (busy m0) (forall (?p - part) (smooth ?p))))"
    kinds = " ".join(f"{name} - {kind}" for name, kind in machines.items())
    return _problem("workshop", f"{' '.join(names)} - part {' '.join(paints)} - colour {kinds}", init, goal)


DOMAINS: dict[str, tuple[str, Callable[[random.Random], str]]] = {
    "lift": (LIFT, lift_problem),
    "satchel": (SATCHEL, satchel_problem),
    "workshop": (WORKSHOP, workshop_problem),
}


def adl_sample(name: str, seed: int) -> tuple[str, str]:
    """The domain text and a small problem text."""
    domain, draw = DOMAINS[name]
    return domain, draw(random.Random(seed))
