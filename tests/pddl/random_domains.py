"""Random small domains with types, `either`, constants, negation and equality: semantics, not realism."""

import itertools
import random


def random_domain(rng: random.Random) -> tuple[str, str]:
    """A domain text and a problem text."""
    types = ["object", *(f"t{i}" for i in range(rng.randint(0, 4)))]
    constants = [f"c{i}" for i in range(rng.randint(0, 2))]
    arities = {f"p{i}": rng.randint(0, 3) for i in range(rng.randint(1, 4))}
    parents = " ".join(f"{kind} - {rng.choice(types[:i])}" for i, kind in enumerate(types) if i)
    predicates = " ".join(f"({name}{''.join(f' ?x{i} - object' for i in range(n))})" for name, n in arities.items())
    actions = "\n".join(_action(rng, f"a{i}", types, constants, arities) for i in range(rng.randint(1, 3)))
    domain = (
        f"(define (domain d) (:requirements :adl)\n(:types {parents})\n"
        f"(:constants {_typed(rng, constants, types)})\n(:predicates {predicates})\n{actions})\n"
    )
    return domain, _problem(rng, types, constants, arities)


def _typed(rng: random.Random, names: list[str], types: list[str]) -> str:
    return " ".join(f"{name} - {rng.choice(types)}" for name in names)


def _parameter(rng: random.Random, name: str, types: list[str]) -> str:
    kind = rng.random()
    if kind < 0.25:
        return f"{name} - object"
    if kind < 0.5 and len(types) > 2:
        return f"{name} - (either {' '.join(rng.sample(types, 2))})"
    return f"{name} - {rng.choice(types)}"


def _action(rng: random.Random, name: str, types: list[str], constants: list[str], arities: dict[str, int]) -> str:
    variables = [f"?v{i}" for i in range(rng.randint(0, 3))]
    terms = variables + constants
    usable = [predicate for predicate, arity in arities.items() if arity == 0 or terms]

    def literal(with_equality: bool) -> str:
        if with_equality and terms and rng.random() < 0.25:
            atom = f"(= {rng.choice(terms)} {rng.choice(terms)})"
        elif usable:
            predicate = rng.choice(usable)
            atom = f"({' '.join([predicate, *(rng.choice(terms) for _ in range(arities[predicate]))])})"
        else:
            return ""
        return f"(not {atom})" if rng.random() < 0.4 else atom

    parameters = " ".join(_parameter(rng, variable, types) for variable in variables)
    precondition = " ".join(literal(True) for _ in range(rng.randint(0, 4)))
    effect = " ".join(literal(False) for _ in range(rng.randint(0, 4)))
    return f"(:action {name} :parameters ({parameters}) :precondition (and {precondition}) :effect (and {effect}))"


def _problem(rng: random.Random, types: list[str], constants: list[str], arities: dict[str, int]) -> str:
    objects = [f"o{i}" for i in range(rng.randint(0, 4))]
    every = objects + constants
    atoms = [
        f"({' '.join([predicate, *arguments])})"
        for predicate, arity in arities.items()
        for arguments in itertools.product(every, repeat=arity)
    ]
    init = " ".join(atom for atom in atoms if rng.random() < 0.5)
    goal = " ".join(atom if rng.random() < 0.6 else f"(not {atom})" for atom in atoms if rng.random() < 0.1)
    return (
        f"(define (problem q) (:domain d)\n(:objects {_typed(rng, objects, types)})\n(:init {init})\n"
        f"(:goal (and {goal})))\n"
    )
