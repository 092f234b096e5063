"""A checked problem printed in a minimal subset of PDDL, for the successor generator to read.

Untyped STRIPS with negation and equality; types become static unary facts (pymimir reads `(either a b)` in
a parameter list as *both* types, PDDL means *one of them*); costs are dropped because the objective is the
number of actions; every name is replaced by a numbered one, so that no name in the user's files can confuse its parser.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from oclgen.interfaces import Atom
from oclgen.pddl.model import ROOT_TYPE, Literal, Operator, ProblemInfo


@dataclass(frozen=True)
class NormalForm:
    """The two texts, and the user's name for every numbered one."""

    domain: str
    problem: str
    predicates: dict[str, str]
    objects: dict[str, str]
    operators: dict[str, str]


def normal_form(info: ProblemInfo) -> NormalForm:
    predicates = {name: f"p{i}" for i, name in enumerate(info.domain.predicates)}
    objects = {name: f"o{i}" for i, name in enumerate(info.objects)}
    operators = {name: f"a{i}" for i, name in enumerate(info.domain.operators)}
    unions = {
        types: f"t{i}"
        for i, types in enumerate(
            {t: None for o in info.domain.operators.values() for t in o.types if ROOT_TYPE not in t}
        )
    }
    printer = _Printer(info, predicates | {"=": "="}, objects, operators, unions)
    return NormalForm(printer.domain(), printer.problem(), _inverse(predicates), _inverse(objects), _inverse(operators))


def _inverse(names: dict[str, str]) -> dict[str, str]:
    return {short: name for name, short in names.items()}


@dataclass(frozen=True)
class _Printer:
    info: ProblemInfo
    predicates: dict[str, str]
    objects: dict[str, str]
    operators: dict[str, str]
    unions: dict[tuple[str, ...], str]

    def domain(self) -> str:
        signatures = self.info.domain.predicates.values()
        declared = [f"({self.predicates[s.name]}{''.join(f' ?x{i}' for i in range(s.arity))})" for s in signatures]
        declared += [f"({short} ?x0)" for short in self.unions.values()]
        constants = " ".join(self.objects[name] for name in self.info.domain.constants)
        actions = "\n".join(self.action(operator) for operator in self.info.domain.operators.values())
        return (
            "(define (domain d)\n(:requirements :strips :equality :negative-preconditions)\n"
            f"(:constants {constants})\n(:predicates {' '.join(declared)})\n{actions})\n"
        )

    def action(self, operator: Operator) -> str:
        terms = self.objects | {name: f"?x{i}" for i, name in enumerate(operator.parameters)}
        kinds = [f"({self.unions[types]} ?x{i})" for i, types in enumerate(operator.types) if types in self.unions]
        precondition = " ".join([*kinds, *(self.literal(literal, terms) for literal in operator.precondition)])
        effect = " ".join(self.literal(literal, terms) for literal in operator.effect)
        variables = " ".join(f"?x{i}" for i in range(operator.arity))
        return (
            f"(:action {self.operators[operator.name]} :parameters ({variables})\n"
            f" :precondition (and {precondition})\n :effect (and {effect}))"
        )

    def literal(self, literal: Literal, terms: dict[str, str]) -> str:
        text = self.atom(literal.atom, terms)
        return text if literal.positive else f"(not {text})"

    def atom(self, atom: Atom, terms: dict[str, str]) -> str:
        return f"({' '.join([self.predicates[atom[0]], *(terms[term] for term in atom[1:])])})"

    def facts(self, atoms: Iterable[Atom]) -> list[str]:
        """Sorted, so that equal problems give equal texts."""
        return [self.atom(atom, self.objects) for atom in sorted(atoms)]

    def problem(self) -> str:
        info = self.info
        objects = " ".join(short for name, short in self.objects.items() if name not in info.domain.constants)
        kinds = [
            f"({short} {self.objects[name]})"
            for types, short in self.unions.items()
            for name in sorted(info.members(types))
        ]
        static = info.domain.static_predicates
        positive, negative = ([atom for atom in atoms if atom[0] not in static] for atoms in info.goal)
        goals = [*self.facts(positive), *(f"(not {fact})" for fact in self.facts(negative))]
        return (
            f"(define (problem q)\n(:domain d)\n(:objects {objects})\n"
            f"(:init {' '.join([*kinds, *self.facts(info.init)])})\n(:goal (and {' '.join(goals)})))\n"
        )
