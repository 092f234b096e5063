"""Conditions, effects and costs, read and checked. What is beyond ADL with action costs is refused by its name."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from oclgen.interfaces import Atom
from oclgen.pddl.model import DomainInfo
from oclgen.pddl.reading.conditions import (
    ALWAYS,
    Condition,
    Conjunction,
    Disjunction,
    Effect,
    Literal,
    Quantified,
    Types,
    negated,
)
from oclgen.pddl.reading.names import Scope, applied, known_term, known_types, number, typed_list, variable
from oclgen.pddl.reading.source import Group, Node, Word, bad, one_of, shown, unsupported

REFUSED_CONDITIONS = {
    "preference": "preferences are",
    "when": "conditional effects (when) inside a condition are",
    "<": "numeric conditions (<) are",
    ">": "numeric conditions (>) are",
    "<=": "numeric conditions (<=) are",
    ">=": "numeric conditions (>=) are",
    "over": "durative actions (over all) are",
}
REFUSED_EFFECTS = {
    "exists": "existential effects (exists) are",
    "or": "disjunctive effects (or) are",
    "imply": "implications (imply) as effects are",
    "oneof": "nondeterministic effects (oneof) are",
    "probabilistic": "probabilistic effects are",
    "assign": "numeric effects (assign) are",
    "decrease": "numeric effects (decrease) are",
    "scale-up": "numeric effects (scale-up) are",
    "scale-down": "numeric effects (scale-down) are",
}
TIMES = frozenset({"start", "end", "all"})


def condition(node: Node, domain: DomainInfo, scope: Scope) -> Condition:
    """A precondition or goal."""
    group = _group(node, "a condition")
    head = group[0] if group else Word("and")
    if head == "and":
        return Conjunction(tuple(condition(part, domain, scope) for part in group[1:]))
    if head == "not":
        return negated(condition(_only_child(group), domain, scope))
    if head == "=":
        return Literal(_equality(group, scope), True)
    if head == "or":
        return Disjunction(tuple(condition(part, domain, scope) for part in group[1:]))
    if head == "imply":
        premise, conclusion = _two_children(group)
        return Disjunction((negated(condition(premise, domain, scope)), condition(conclusion, domain, scope)))
    if one_of(head, {"forall", "exists"}):
        declared, body = _quantifier(group, domain)
        inner = condition(body, domain, {**scope, **declared})
        return Quantified(head == "forall", tuple(declared), tuple(declared.values()), inner)
    _refuse(group, REFUSED_CONDITIONS, domain)
    return Literal(applied(group, "predicate", domain.predicates, scope, domain), True)


def _equality(group: Group, scope: Scope) -> Atom:
    if any(isinstance(side, Group) or (number(side) is not None and side not in scope) for side in group[1:]):
        raise unsupported(group, "numeric conditions (=) are")
    if len(group) != 3:
        raise bad(group, f"= takes 2 arguments, not {len(group) - 1}: {shown(group)}")
    return ("=", known_term(group[1], scope), known_term(group[2], scope))


def _quantifier(group: Group, domain: DomainInfo) -> tuple[dict[str, tuple[str, ...]], Node]:
    """The variables of a forall or exists with their types, and what they range over."""
    variables, body = _two_children(group)
    listed = _group(variables, f"the variables of {group[0]}")
    declared: dict[str, tuple[str, ...]] = {}
    for node, words in typed_list(list(listed), f"the variables of {group[0]}"):
        if one_of(node, declared):
            raise bad(node, f"variable {shown(node)} is declared twice")
        declared[variable(node, str(group[0]))] = known_types(words, domain.types)
    return declared, body


@dataclass(frozen=True, slots=True)
class _Context:
    """Where an effect stands: inside which variables and which conditions."""

    scope: Scope
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    condition: Condition = ALWAYS

    @property
    def is_plain(self) -> bool:
        return not self.variables and self.condition == ALWAYS


def effect(node: Node, domain: DomainInfo, scope: Scope) -> tuple[list[Effect], list[float | Atom]]:
    """What an action changes, unconditional literals first, and the terms it adds to total-cost."""
    plain: list[Literal] = []
    effects: list[Effect] = []
    costs: list[float | Atom] = []
    for context, literals, cost in _effects(node, domain, _Context(scope)):
        if cost is not None:
            costs.append(cost)
        elif context.is_plain:
            plain += literals
        else:
            types: Types = tuple(context.variables.values())
            effects.append(Effect(literals, context.condition, tuple(context.variables), types))
    return [*([Effect(tuple(plain))] if plain else []), *effects], costs


_Found = tuple[_Context, tuple[Literal, ...], float | Atom | None]


def _effects(node: Node, domain: DomainInfo, context: _Context) -> list[_Found]:
    group = _group(node, "an effect")
    head = group[0] if group else Word("and")
    if head == "and":
        return [found for child in group[1:] for found in _effects(child, domain, context)]
    if head == "increase":
        return [(context, (), _cost(group, domain, context))]
    if head == "when":
        premise, body = _two_children(group)
        inner = Conjunction((*_parts(context.condition), condition(premise, domain, context.scope)))
        return _effects(body, domain, replace(context, condition=inner))
    if head == "forall":
        return _for_all(group, domain, context)
    atom = _group(_only_child(group), "an effect") if head == "not" else group
    _refuse(atom, REFUSED_EFFECTS, domain)
    literal = Literal(applied(atom, "predicate", domain.predicates, context.scope, domain), head != "not")
    return [(context, (literal,), None)]


def _parts(outer: Condition) -> tuple[Condition, ...]:
    return outer.parts if isinstance(outer, Conjunction) else (outer,)


def _for_all(group: Group, domain: DomainInfo, context: _Context) -> list[_Found]:
    declared, body = _quantifier(group, domain)
    for name in declared:
        if name in context.scope:
            raise unsupported(group, f"variable {name} declared again inside an effect is")
    inner = replace(context, scope={**context.scope, **declared}, variables={**context.variables, **declared})
    return _effects(body, domain, inner)


def _cost(group: Group, domain: DomainInfo, context: _Context) -> float | Atom:
    if len(group) != 3 or not isinstance(group[1], Group):
        raise bad(group, f"expected (increase (total-cost) AMOUNT), not {shown(group)}")
    if not context.is_plain:
        raise unsupported(group, "a conditional action cost is")
    target = applied(group[1], "function", domain.functions, context.scope, domain)
    if target != ("total-cost",):
        raise unsupported(group, f"numeric effects (increase of {target[0]}) are")
    amount = number(group[2])
    if amount is None:
        term = _group(group[2], "a number or a function")
        if term and one_of(term[0], {"+", "-", "*", "/"}):
            raise unsupported(term, "arithmetic in action costs is")
        return applied(term, "function", domain.functions, context.scope, domain)
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


def _two_children(group: Group) -> tuple[Node, Node]:
    if len(group) != 3:
        raise bad(group, f"({group[0]} ...) takes exactly two parts: {shown(group)}")
    return group[1], group[2]
