"""Conditions beyond conjunctions of literals, compiled into rules (axioms) over new predicates.

`(exists (?y) c)` and `(or a b)` become an atom of a new predicate over their free variables, with one rule for each
way to make it true; `(forall (?y) c)` is the negation of `(exists (?y) (not c))`. Neither the operators nor their
parameters change, the new atoms are no part of a state, and the size is linear in that of the user's file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from oclgen.interfaces import Atom
from oclgen.pddl.compiling.grounding import Listed
from oclgen.pddl.reading.conditions import (
    Condition,
    Conjunction,
    Disjunction,
    Literal,
    Quantified,
    Types,
    conjuncts,
    free_variables,
    pushed_down,
)

DERIVED = "derived "
"""How new predicates begin: nothing in a file is called so."""
MAX_BINDINGS = 200_000
"""Ways to bind the variables of one rule; every state looks at up to so many."""
SPLIT_BINDINGS = 2_000
"""A disjunction of a precondition with more bindings becomes several operators where that is possible."""
MAX_COPIES = 32


class TooManyBindings(Exception):
    """Conditions over too many objects."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    types: tuple[str, ...]


Terms = Mapping[str, Variable]
"""The printed variable for each one of the user's."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The head holds for all values of the variables under which the body holds."""

    head: Atom
    variables: tuple[Variable, ...]
    body: tuple[Literal, ...]


@dataclass
class Rules:
    """Collects rules. New variables are `?y0`, `?y1`, ...; `arities` are those of the new predicates.

    `static_counts` says how many facts there are of each predicate that no action changes.
    """

    listed: Listed
    static_counts: Mapping[str, int]
    rules: list[Rule] = field(default_factory=list)
    arities: list[int] = field(default_factory=list)
    _variables: int = 0

    def literals(self, condition: Condition, terms: Terms) -> tuple[Literal, ...]:
        """Literals that must all hold, in the terms' names, adding the rules that they need."""
        return tuple(self._literal(part, terms) for part in conjuncts(pushed_down(condition)))

    def named(self, condition: Condition) -> Literal:
        """A condition without free variables as one atom."""
        head = self._head(condition, {})
        self._add(head, (), condition, {})
        return Literal(head, True)

    def extended(self, terms: Terms, variables: Sequence[str], types: Types) -> dict[str, Variable]:
        """The terms with new variables, which hide those of the same name."""
        fresh = (Variable(f"?y{self._variables + place}", kinds) for place, kinds in enumerate(types))
        found = {**terms, **dict(zip(variables, fresh, strict=True))}
        self._variables += len(types)
        return found

    def alternatives(self, condition: Condition, terms: Terms) -> list[Condition]:
        """Conditions of which one must hold; only disjunctions over many bindings are split off."""
        found = _split(list(conjuncts(pushed_down(condition))), lambda part: self._is_wide(part, terms))
        if len(found) > MAX_COPIES:
            raise TooManyBindings
        return [Conjunction(tuple(parts)) for parts in found]

    def _is_wide(self, part: Condition, terms: Terms) -> bool:
        if not isinstance(part, Disjunction) or not part.parts:
            return False
        return prod(len(self.listed(terms[name].types)) for name in free_variables(part)) > SPLIT_BINDINGS

    def _literal(self, condition: Condition, terms: Terms) -> Literal:
        if isinstance(condition, Literal):
            return renamed(condition, terms)
        head = self._head(condition, terms)
        if isinstance(condition, Quantified):
            inner = self.extended(terms, condition.variables, condition.types)
            own = [inner[name] for name in condition.variables]
            self._add(head, own, pushed_down(condition.body, not condition.universal), inner)
            return Literal(head, not condition.universal)
        assert isinstance(condition, Disjunction)
        for part in condition.parts:
            self._add(head, (), part, terms)
        return Literal(head, True)

    def _head(self, condition: Condition, terms: Terms) -> Atom:
        free = sorted(terms[name].name for name in free_variables(condition))
        self.arities.append(len(free))
        return (f"{DERIVED}{len(self.arities) - 1}", *free)

    def _add(self, head: Atom, own: Iterable[Variable], body: Condition, terms: Terms) -> None:
        known = {variable.name: variable for variable in terms.values()}
        variables = tuple(dict.fromkeys([*(known[name] for name in head[1:]), *own]))
        rule = Rule(head, variables, self.literals(body, terms))
        if self._bindings(rule) > MAX_BINDINGS:
            raise TooManyBindings
        self.rules.append(rule)

    def _bindings(self, rule: Rule) -> int:
        """At most so many ways to bind a rule's variables: static facts bind several at once."""
        sizes = {variable.name: len(self.listed(variable.types)) for variable in rule.variables}
        ways = 1
        for literal in rule.body:
            binds = [sizes[term] for term in dict.fromkeys(literal.atom[1:]) if term in sizes]
            facts = self.static_counts.get(literal.atom[0])
            if literal.positive and facts is not None and facts < prod(binds):
                ways *= facts
                sizes = {name: size for name, size in sizes.items() if name not in literal.atom}
        return ways * prod(sizes.values())


def renamed(literal: Literal, terms: Terms) -> Literal:
    names = (terms[term].name if term in terms else term for term in literal.atom[1:])
    return Literal((literal.atom[0], *names), literal.positive)


def _split(parts: list[Condition], is_split: Callable[[Condition], bool]) -> list[list[Condition]]:
    """All combinations of the disjuncts of those parts that are to be split; stops soon after `MAX_COPIES`."""
    for place, part in enumerate(parts):
        if isinstance(part, Disjunction) and is_split(part):
            found: list[list[Condition]] = []
            for choice in part.parts:
                if len(found) <= MAX_COPIES:
                    found += _split([*parts[:place], *conjuncts(choice), *parts[place + 1 :]], is_split)
            return found
    return [parts]
