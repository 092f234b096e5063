"""Conditions and effects as a domain file has them: the syntax tree, nothing simplified or compiled."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from oclgen.interfaces import Atom

Types = tuple[tuple[str, ...], ...]
"""For each variable the types it may have (several for `either`)."""


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom over variables and objects that must be true or false; `("=", a, b)` is equality."""

    atom: Atom
    positive: bool


@dataclass(frozen=True, slots=True)
class Negation:
    part: "Condition"


@dataclass(frozen=True, slots=True)
class Conjunction:
    """True where it has no parts."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True, slots=True)
class Disjunction:
    """False where it has no parts. `(imply a b)` is read as `(or (not a) b)`."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True, slots=True)
class Quantified:
    """`forall` where `universal`, else `exists`. Its variables hide those of the same name around it."""

    universal: bool
    variables: tuple[str, ...]
    types: Types
    body: "Condition"


Condition: TypeAlias = Literal | Negation | Conjunction | Disjunction | Quantified

ALWAYS, NEVER = Conjunction(), Disjunction()


@dataclass(frozen=True, slots=True)
class Effect:
    """For all values of its variables under which the condition holds before the action, the literals after it."""

    literals: tuple[Literal, ...]
    condition: Condition = ALWAYS
    variables: tuple[str, ...] = ()
    types: Types = ()


def negated(condition: Condition) -> Condition:
    if isinstance(condition, Literal):
        return Literal(condition.atom, not condition.positive)
    return condition.part if isinstance(condition, Negation) else Negation(condition)


def conjuncts(condition: Condition) -> Iterator[Condition]:
    """The parts that must all hold."""
    if isinstance(condition, Conjunction):
        for part in condition.parts:
            yield from conjuncts(part)
    else:
        yield condition


def quantifiers(condition: Condition) -> Iterator[Quantified]:
    """Every quantified part, the outer before the inner."""
    if isinstance(condition, Quantified):
        yield condition
        yield from quantifiers(condition.body)
    elif isinstance(condition, Negation):
        yield from quantifiers(condition.part)
    elif isinstance(condition, Conjunction | Disjunction):
        for part in condition.parts:
            yield from quantifiers(part)


def free_variables(condition: Condition) -> frozenset[str]:
    """The variables that the condition mentions and does not declare."""
    if isinstance(condition, Literal):
        return frozenset(term for term in condition.atom[1:] if term.startswith("?"))
    if isinstance(condition, Negation):
        return free_variables(condition.part)
    if isinstance(condition, Quantified):
        return free_variables(condition.body) - set(condition.variables)
    return frozenset().union(*map(free_variables, condition.parts))


def pushed_down(condition: Condition, positive: bool = True) -> Condition:
    """The condition, or its negation, with every negation at an atom, and conjunctions and disjunctions flat."""
    if isinstance(condition, Literal):
        return condition if positive else negated(condition)
    if isinstance(condition, Negation):
        return pushed_down(condition.part, not positive)
    if isinstance(condition, Quantified):
        return replace(condition, universal=condition.universal is positive, body=pushed_down(condition.body, positive))
    kind = Conjunction if isinstance(condition, Conjunction) is positive else Disjunction
    parts = [pushed_down(part, positive) for part in condition.parts]
    flat = dict.fromkeys(each for part in parts for each in (part.parts if isinstance(part, kind) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else kind(tuple(flat))
