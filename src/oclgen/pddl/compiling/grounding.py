"""A goal without quantifiers: what it asks of the objects of one problem, for models and fingerprints.

Quantifiers are expanded, negation moves to the atoms. Inside a disjunction what no action can change is decided at
once, so `(forall (?p ?f) (imply (destination ?p ?f) (at ?p ?f)))` becomes one atom for each passenger.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from oclgen.interfaces import Atom
from oclgen.pddl.reading.conditions import (
    ALWAYS,
    NEVER,
    Condition,
    Conjunction,
    Disjunction,
    Effect,
    Literal,
    Negation,
    Quantified,
    Types,
)

Binding = dict[str, str]
"""The object that stands for each variable."""
Listed = Callable[[tuple[str, ...]], tuple[str, ...]]
"""The objects of a type or of a union of types."""


def bound(atom: Atom, binding: Binding) -> Atom:
    return (atom[0], *(binding.get(term, term) for term in atom[1:]))


def bindings(part: Quantified | Effect, binding: Binding, listed: Listed) -> Iterator[Binding]:
    """Every choice of objects for the variables of a quantifier or of an effect."""
    for objects in product(*map(listed, part.types)):
        yield {**binding, **dict(zip(part.variables, objects, strict=True))}


def choices(types: Types, listed: Listed) -> int:
    return prod(len(listed(each)) for each in types)


def ground_size(condition: Condition, listed: Listed) -> int:
    """How many atoms there are when quantifiers are expanded."""
    if isinstance(condition, Literal):
        return 1
    if isinstance(condition, Negation):
        return ground_size(condition.part, listed)
    if isinstance(condition, Quantified):
        return choices(condition.types, listed) * ground_size(condition.body, listed)
    return sum(ground_size(part, listed) for part in condition.parts)


def ground_literals(condition: Condition) -> Iterator[Literal]:
    """The literals of a ground condition."""
    if isinstance(condition, Literal):
        yield condition
    elif isinstance(condition, Conjunction | Disjunction):
        for part in condition.parts:
            yield from ground_literals(part)


@dataclass(frozen=True)
class Grounder:
    """The objects of a problem, and what holds in it for ever."""

    listed: Listed
    facts: Container[Atom]
    static: Container[str]

    def ground(self, condition: Condition, positive: bool = True) -> Condition:
        """The condition, or its negation, as conjunctions and disjunctions of ground literals."""
        return self._ground(condition, positive, {}, decide=False)

    def _ground(self, condition: Condition, positive: bool, binding: Binding, decide: bool) -> Condition:
        if isinstance(condition, Literal):
            return self._literal(bound(condition.atom, binding), condition.positive is positive, decide)
        if isinstance(condition, Negation):
            return self._ground(condition.part, not positive, binding, decide)
        if isinstance(condition, Quantified):
            wants_all = condition.universal is positive
            inner = ((condition.body, each) for each in bindings(condition, binding, self.listed))
        else:
            wants_all = isinstance(condition, Conjunction) is positive
            inner = ((part, binding) for part in condition.parts)
        parts = (self._ground(part, positive, each, decide or not wants_all) for part, each in inner)
        return _joined(parts, Conjunction, NEVER) if wants_all else _joined(parts, Disjunction, ALWAYS)

    def _literal(self, atom: Atom, positive: bool, decide: bool) -> Condition:
        if atom[0] == "=":
            return ALWAYS if (atom[1] == atom[2]) is positive else NEVER
        if decide and atom[0] in self.static:
            return ALWAYS if (atom in self.facts) is positive else NEVER
        return Literal(atom, positive)


def _joined(parts: Iterable[Condition], kind: type[Conjunction] | type[Disjunction], decisive: Condition) -> Condition:
    """The parts without repetition, those of the same kind opened; one `decisive` part decides."""
    found: dict[Condition, None] = {}
    for part in parts:
        if part == decisive:
            return decisive
        found.update(dict.fromkeys(part.parts if isinstance(part, kind) else (part,)))
    return next(iter(found)) if len(found) == 1 else kind(tuple(found))
