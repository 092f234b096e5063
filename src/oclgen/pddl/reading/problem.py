"""Problem files: read and checked against their domain, summarised as a `ProblemInfo`."""

from pathlib import Path

from oclgen.interfaces import Atom
from oclgen.pddl.compiling.grounding import choices, ground_size
from oclgen.pddl.model import DomainInfo, ProblemInfo
from oclgen.pddl.reading.conditions import Condition
from oclgen.pddl.reading.domain import parse_domain, requirements, single_sections
from oclgen.pddl.reading.formula import condition
from oclgen.pddl.reading.names import Scope, applied, declared_objects, name, number
from oclgen.pddl.reading.source import (
    Group,
    Node,
    Source,
    Word,
    bad,
    read_definition,
    sections,
    shown,
    source,
    unsupported,
)

SECTIONS = frozenset({":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length"})
MAX_GOAL_SIZE, MAX_ACTION_SIZE = 200_000, 200_000
"""Atoms of a goal, or of the conditions and effects of one action, once their quantifiers are expanded."""
REFUSED_SECTIONS = {":constraints": "trajectory constraints (:constraints) are", ":htn": "task networks (:htn) are"}


def read_problem(domain: Path | str, problem: Path | str) -> ProblemInfo:
    """A checked problem with its checked domain; each a file or a text."""
    return parse_problem(source(problem, "problem"), parse_domain(source(domain, "domain")))


def parse_problem(origin: Source, domain: DomainInfo) -> ProblemInfo:
    title, root = read_definition(origin, "problem")
    single = single_sections(sections(root, SECTIONS, REFUSED_SECTIONS))
    for needed in (":domain", ":init", ":goal"):
        if needed not in single:
            raise bad(root, f"no ({needed} ...) section")
    _same_domain(single[":domain"], domain)
    requirements(single.get(":requirements"))
    objects = _objects(single.get(":objects"), domain)
    scope = {title: (kind,) for title, kind in objects.items()}
    init, values = _init(single[":init"], domain, scope)
    goal = _goal(single[":goal"], domain, scope)
    minimizes_cost = _minimizes_cost(single.get(":metric"), domain)
    info = ProblemInfo(name(title, "the problem"), domain, objects, init, goal, values, minimizes_cost)
    _check_sizes(info, single[":goal"])
    return info


def _same_domain(group: Group, domain: DomainInfo) -> None:
    if len(group) != 2:
        raise bad(group, f"expected (:domain NAME), not {shown(group)}")
    wanted = name(group[1], "a domain")
    if wanted != domain.name:
        raise bad(group, f"this problem is for domain {wanted}, not for {domain.name}")


def _objects(group: Group | None, domain: DomainInfo) -> dict[str, str]:
    objects = dict(domain.constants)
    for node, kind in declared_objects([] if group is None else group[1:], "the objects", domain.types):
        if node in objects:
            clash = "already a constant of the domain" if node in domain.constants else "declared twice"
            raise bad(node, f"object {shown(node)} is {clash}")
        objects[str(node)] = kind
    return objects


def _init(group: Group, domain: DomainInfo, scope: Scope) -> tuple[frozenset[Atom], dict[Atom, float]]:
    true: set[Atom] = set()
    false: set[Atom] = set()
    values: dict[Atom, float] = {}
    for node in group[1:]:
        fact = _fact(node)
        if fact[0] == "=":
            term, value = _assignment(fact, domain, scope)
            values[term] = value
        elif fact[0] == "not":
            inner = _fact(fact[1]) if len(fact) == 2 else fact
            false.add(applied(inner, "predicate", domain.predicates, scope, domain))
        else:
            true.add(applied(fact, "predicate", domain.predicates, scope, domain))
    if clash := true & false:
        raise bad(group, f"({' '.join(min(clash))}) is both true and false in the initial state")
    return frozenset(true), values


def _fact(node: Node) -> Group:
    if not isinstance(node, Group) or not node:
        raise bad(node, f"expected a fact such as (on a b), not {shown(node)}")
    if node[0] == "at" and len(node) == 3 and isinstance(node[2], Group) and number(node[1]) is not None:
        raise unsupported(node, "timed initial literals (at TIME ...) are")
    return node


def _assignment(group: Group, domain: DomainInfo, scope: Scope) -> tuple[Atom, float]:
    value = number(group[2]) if len(group) == 3 else None
    if value is None or not isinstance(group[1], Group):
        raise bad(group, f"expected (= (FUNCTION ...) NUMBER), not {shown(group)}")
    return applied(group[1], "function", domain.functions, scope, domain), value


def _goal(group: Group, domain: DomainInfo, scope: Scope) -> Condition:
    if len(group) != 2:
        raise bad(group, f"expected (:goal CONDITION), not {shown(group)}")
    return condition(group[1], domain, scope)


def _check_sizes(info: ProblemInfo, goal: Group) -> None:
    """Refuse quantifiers whose expansion would take for ever, here, so that all readers agree."""
    count = len(info.objects)
    if ground_size(info.goal_condition, info.listed) > MAX_GOAL_SIZE:
        raise unsupported(goal, f"a goal with such quantifiers over {count} objects is")
    for operator in info.domain.operators.values():
        size = ground_size(operator.precondition, info.listed)
        for effect in operator.effects:
            each = ground_size(effect.condition, info.listed) + len(effect.literals)
            size += choices(effect.types, info.listed) * each
        if size > MAX_ACTION_SIZE:
            raise unsupported(goal, f"action {operator.name} with such quantifiers over {count} objects is")


def _minimizes_cost(group: Group | None, domain: DomainInfo) -> bool:
    """Whether the problem asks for a small total cost; the planner itself shortens plans."""
    if group is None:
        return False
    if len(group) != 3 or not isinstance(group[1], Word):
        raise bad(group, f"expected (:metric minimize (total-cost)), not {shown(group)}")
    target = group[2]
    if group[1] != "minimize" or target not in (["total-cost"], ["total-time"], "total-time"):
        raise unsupported(group, f"metric {shown(group)} is")
    if target == ["total-cost"] and "total-cost" not in domain.functions:
        raise bad(group, "unknown function total-cost")
    return target == ["total-cost"]
