"""Random small domains that use all of ADL: semantics, not realism."""

import itertools
import random
from dataclasses import dataclass

DEPTH = 3


@dataclass
class Writer:
    """Draws conditions and effects over some predicates, types and constants."""

    rng: random.Random
    types: list[str]
    constants: list[str]
    arities: dict[str, int]
    count: int = 0

    def atom(self, terms: list[str], equality: bool) -> str:
        if equality and terms and self.rng.random() < 0.15:
            return f"(= {self.rng.choice(terms)} {self.rng.choice(terms)})"
        name = self.rng.choice([name for name, arity in self.arities.items() if arity == 0 or terms])
        return f"({' '.join([name, *(self.rng.choice(terms) for _ in range(self.arities[name]))])})"

    def variables(self, most: int, terms: list[str]) -> tuple[list[str], str]:
        """Names, some of which hide others, and their declaration."""
        fresh = [f"?q{self.count + i}" for i in range(self.rng.randint(1, most))]
        self.count += len(fresh)
        hidden = [term for term in terms if term.startswith("?q")]
        if hidden and self.rng.random() < 0.1:
            fresh[0] = self.rng.choice(hidden)
        return fresh, " ".join(f"{name} - {self.kind()}" for name in fresh)

    def kind(self) -> str:
        if len(self.types) > 2 and self.rng.random() < 0.2:
            return f"(either {' '.join(self.rng.sample(self.types, 2))})"
        return self.rng.choice(self.types)

    def condition(self, terms: list[str], depth: int = DEPTH) -> str:
        kind = self.rng.random()
        if depth == 0 or kind < 0.25:
            atom = self.atom(terms, equality=True)
            return f"(not {atom})" if self.rng.random() < 0.4 else atom
        if kind < 0.55:
            word = self.rng.choice(["and", "or", "or"])
            parts = [self.condition(terms, depth - 1) for _ in range(self.rng.randint(1, 3))]
            return f"({' '.join([word, *parts])})"
        if kind < 0.65:
            return f"(not {self.condition(terms, depth - 1)})"
        if kind < 0.75:
            return f"(imply {self.condition(terms, depth - 1)} {self.condition(terms, depth - 1)})"
        fresh, declared = self.variables(2, terms)
        word = self.rng.choice(["forall", "exists"])
        return f"({word} ({declared}) {self.condition([*terms, *fresh], depth - 1)})"

    def literals(self, terms: list[str], most: int) -> str:
        atoms = [self.atom(terms, equality=False) for _ in range(self.rng.randint(1, most))]
        return " ".join(f"(not {atom})" if self.rng.random() < 0.4 else atom for atom in atoms)

    def effect(self, terms: list[str]) -> str:
        kind = self.rng.random()
        if kind < 0.3:
            return self.literals(terms, 2)
        if kind < 0.6:
            return f"(when {self.condition(terms, 2)} (and {self.literals(terms, 2)}))"
        fresh, declared = self.variables(2, [])
        inner = [*terms, *fresh]
        if kind < 0.75:
            return f"(forall ({declared}) (and {self.literals(inner, 2)}))"
        return f"(forall ({declared}) (when {self.condition(inner, 2)} (and {self.literals(inner, 2)})))"

    def action(self, name: str) -> str:
        parameters = [f"?v{i}" for i in range(self.rng.randint(0, 2))]
        terms = parameters + self.constants
        declared = " ".join(f"{each} - {self.kind()}" for each in parameters)
        effects = " ".join(self.effect(terms) for _ in range(self.rng.randint(1, 3)))
        precondition = self.condition(terms) if self.rng.random() < 0.9 else "()"
        return f"(:action {name} :parameters ({declared}) :precondition {precondition} :effect (and {effects}))"


def random_adl(rng: random.Random) -> tuple[str, str]:
    """A domain text and a problem text."""
    types = ["object", *(f"t{i}" for i in range(rng.randint(0, 3)))]
    constants = [f"c{i}" for i in range(rng.randint(0, 1))]
    arities = {"p0": 0} | {f"p{i}": rng.choice([0, 1, 1, 2]) for i in range(1, rng.randint(2, 4))}
    writer = Writer(rng, types, constants, arities)
    parents = " ".join(f"{kind} - {rng.choice(types[:i])}" for i, kind in enumerate(types) if i)
    predicates = " ".join(f"({name}{''.join(f' ?x{i} - object' for i in range(n))})" for name, n in arities.items())
    actions = "\n".join(writer.action(f"a{i}") for i in range(rng.randint(1, 3)))
    typed = " ".join(f"{name} - {rng.choice(types)}" for name in constants)
    domain = (
        f"(define (domain d) (:requirements :adl)\n(:types {parents})\n"
        f"(:constants {typed})\n(:predicates {predicates})\n{actions})\n"
    )
    return domain, _problem(writer)


def _problem(writer: Writer) -> str:
    rng = writer.rng
    objects = [f"o{i}" for i in range(rng.randint(0, 3))]
    every = objects + writer.constants
    atoms = [
        f"({' '.join([predicate, *arguments])})"
        for predicate, arity in writer.arities.items()
        for arguments in itertools.product(every, repeat=arity)
    ]
    init = " ".join(atom for atom in atoms if rng.random() < 0.5)
    typed = " ".join(f"{name} - {rng.choice(writer.types)}" for name in objects)
    return f"(define (problem q) (:domain d)\n(:objects {typed})\n(:init {init})\n(:goal {writer.condition(every)}))\n"
