"""How many ground actions a problem can have: well-typed ones whose static preconditions hold.

The paper compares |A| with a threshold and calls the problems above it a small portion. By types alone a truck could
drive between any two locations with any city as the third argument; `in-city`, which nothing changes, rules that out.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import prod

from oclgen.interfaces import Atom
from oclgen.pddl.model import Operator, ProblemInfo
from oclgen.pddl.reading.conditions import Literal, conjuncts

MOST_ROWS = 200_000
"""A join with more rows than this is left off; what it would have ruled out is counted."""

Row = tuple[str, ...]
Facts = dict[str, list[Row]]
"""The arguments of the static atoms of each predicate."""


def ground_action_bound(info: ProblemInfo) -> int:
    """An upper bound on the number of ground actions that any state can have: exact up to negative conditions."""
    facts: Facts = defaultdict(list)
    for atom in info.init:
        if atom[0] in info.domain.static_predicates:
            facts[atom[0]].append(atom[1:])
    return sum(count(operator, info, facts) for operator in info.domain.operators.values())


def count(operator: Operator, info: ProblemInfo, facts: Facts) -> int:
    """The ground actions of one operator: joins of its static preconditions, times the parameters that none binds."""
    members = {name: info.members(types) for name, types in zip(operator.parameters, operator.types, strict=True)}
    literals = [each for each in conjuncts(operator.precondition) if isinstance(each, Literal) and each.positive]
    waiting = [each.atom for each in literals if each.atom[0] in info.domain.static_predicates]
    total = 1
    while waiting:
        bound: tuple[str, ...] = ()
        rows: list[Row] = [()]
        while (atom := next_atom(waiting, bound, members)) is not None:
            waiting.remove(atom)
            joined = join(bound, rows, atom, facts, members)
            if joined is not None:
                bound, rows = joined
        total *= len(rows)
        for name in bound:
            members.pop(name)
    return total * prod(map(len, members.values()))


def next_atom(waiting: Sequence[Atom], bound: Iterable[str], members: dict[str, frozenset[str]]) -> Atom | None:
    """One that shares a variable with those joined so far; at the beginning any, and one without variables always."""
    for atom in waiting:
        variables = {term for term in atom[1:] if term in members}
        if not bound or not variables or not variables.isdisjoint(bound):
            return atom
    return None


def join(
    bound: tuple[str, ...], rows: Sequence[Row], atom: Atom, facts: Facts, members: dict[str, frozenset[str]]
) -> tuple[tuple[str, ...], list[Row]] | None:
    """The variables and rows after one more condition; None if they would be too many."""
    terms = atom[1:]
    new = tuple(dict.fromkeys(term for term in terms if term in members and term not in bound))
    shared = tuple(dict.fromkeys(term for term in terms if term in bound))
    index: dict[Row, list[Row]] = defaultdict(list)
    for values in facts[atom[0]]:
        binding = match(terms, values, members)
        if binding is not None:
            index[tuple(binding[name] for name in shared)].append(tuple(binding[name] for name in new))
    places = [bound.index(name) for name in shared]
    keys = [tuple(row[place] for place in places) for row in rows]
    if sum(len(index.get(key, ())) for key in keys) > MOST_ROWS:
        return None
    return bound + new, [row + more for row, key in zip(rows, keys, strict=True) for more in index.get(key, ())]


def match(terms: Row, values: Row, members: dict[str, frozenset[str]]) -> dict[str, str] | None:
    """What the variables among `terms` are if an atom has these arguments; None if it cannot have them."""
    binding: dict[str, str] = {}
    for term, value in zip(terms, values, strict=True):
        if term not in members:
            if term != value:
                return None
        elif value not in members[term] or binding.setdefault(term, value) != value:
            return None
    return binding
