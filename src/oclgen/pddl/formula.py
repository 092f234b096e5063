"""Conditions and effects: conjunctions of literals, and costs. Every richer construct is refused by its name."""

from collections.abc import Iterator

from oclgen.interfaces import Atom
from oclgen.pddl.model import DomainInfo, Literal
from oclgen.pddl.names import Scope, applied, known_term, number
from oclgen.pddl.source import Group, Node, bad, one_of, shown, unsupported

REFUSED_CONDITIONS = {
    "or": "disjunctive conditions (or) are",
    "imply": "implications (imply) are",
    "forall": "quantified conditions (forall) are",
    "exists": "quantified conditions (exists) are",
    "preference": "preferences are",
    "when": "conditional effects (when) are",
    "<": "numeric conditions (<) are",
    ">": "numeric conditions (>) are",
    "<=": "numeric conditions (<=) are",
    ">=": "numeric conditions (>=) are",
    "over": "durative actions (over all) are",
}
REFUSED_EFFECTS = {
    "when": "conditional effects (when) are",
    "forall": "quantified effects (forall) are",
    "exists": "quantified effects (exists) are",
    "or": "disjunctive effects (or) are",
    "oneof": "nondeterministic effects (oneof) are",
    "probabilistic": "probabilistic effects are",
    "assign": "numeric effects (assign) are",
    "decrease": "numeric effects (decrease) are",
    "scale-up": "numeric effects (scale-up) are",
    "scale-down": "numeric effects (scale-down) are",
}
TIMES = frozenset({"start", "end", "all"})


def condition(node: Node, domain: DomainInfo, scope: Scope) -> list[Literal]:
    """A precondition or goal as a list of literals that must all hold."""
    return list(_literals(node, True, domain, scope))


def _literals(node: Node, positive: bool, domain: DomainInfo, scope: Scope) -> Iterator[Literal]:
    group = _group(node, "a condition")
    if not group:
        return
    head = group[0]
    if head == "and":
        if not positive:
            raise unsupported(group, "a negated conjunction (not (and ...)) is")
        for child in group[1:]:
            yield from _literals(child, True, domain, scope)
    elif head == "not":
        yield from _literals(_only_child(group), not positive, domain, scope)
    elif head == "=":
        yield Literal(_equality(group, scope), positive)
    else:
        _refuse(group, REFUSED_CONDITIONS, domain)
        yield Literal(applied(group, "predicate", domain.predicates, scope, domain), positive)


def _equality(group: Group, scope: Scope) -> Atom:
    if any(isinstance(side, Group) or (number(side) is not None and side not in scope) for side in group[1:]):
        raise unsupported(group, "numeric conditions (=) are")
    if len(group) != 3:
        raise bad(group, f"= takes 2 arguments, not {len(group) - 1}: {shown(group)}")
    return ("=", known_term(group[1], scope), known_term(group[2], scope))


def effect(node: Node, domain: DomainInfo, scope: Scope) -> tuple[list[Literal], list[float | Atom]]:
    """An effect as literals made true or false, and the terms added to total-cost."""
    literals: list[Literal] = []
    costs: list[float | Atom] = []
    _collect(node, domain, scope, literals, costs)
    return literals, costs


def _collect(node: Node, domain: DomainInfo, scope: Scope, literals: list[Literal], costs: list[float | Atom]) -> None:
    group = _group(node, "an effect")
    if not group:
        return
    head = group[0]
    if head == "and":
        for child in group[1:]:
            _collect(child, domain, scope, literals, costs)
    elif head == "increase":
        costs.append(_cost(group, domain, scope))
    else:
        atom = _group(_only_child(group), "an effect") if head == "not" else group
        _refuse(atom, REFUSED_EFFECTS, domain)
        literals.append(Literal(applied(atom, "predicate", domain.predicates, scope, domain), head != "not"))


def _cost(group: Group, domain: DomainInfo, scope: Scope) -> float | Atom:
    if len(group) != 3 or not isinstance(group[1], Group):
        raise bad(group, f"expected (increase (total-cost) AMOUNT), not {shown(group)}")
    target = applied(group[1], "function", domain.functions, scope, domain)
    if target != ("total-cost",):
        raise unsupported(group, f"numeric effects (increase of {target[0]}) are")
    amount = number(group[2])
    if amount is None:
        term = _group(group[2], "a number or a function")
        if term and one_of(term[0], {"+", "-", "*", "/"}):
            raise unsupported(term, "arithmetic in action costs is")
        return applied(term, "function", domain.functions, scope, domain)
    if amount < 0:
        raise unsupported(group, "a negative action cost is")
    return amount


def _refuse(group: Group, refused: dict[str, str], domain: DomainInfo) -> None:
    head = group[0] if group else group
    if one_of(head, refused) and not one_of(head, domain.predicates):
        raise unsupported(group, refused[str(head)])
    if head == "at" and len(group) == 3 and one_of(group[1], TIMES) and isinstance(group[2], Group):
        raise unsupported(group, f"durative actions (at {group[1]}) are")


def _group(node: Node, what: str) -> Group:
    if not isinstance(node, Group):
        raise bad(node, f"expected {what} in parentheses, not {shown(node)!r}")
    return node


def _only_child(group: Group) -> Node:
    if len(group) != 2:
        raise bad(group, f"(not ...) takes exactly one part: {shown(group)}")
    return group[1]
