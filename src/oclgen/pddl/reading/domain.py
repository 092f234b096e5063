"""Domain files: read, checked, summarised as a `DomainInfo`."""

from collections.abc import Container
from functools import lru_cache
from pathlib import Path

from oclgen.pddl.model import ROOT_TYPE, DomainInfo, Operator, Signature
from oclgen.pddl.reading.conditions import ALWAYS
from oclgen.pddl.reading.formula import condition, effect
from oclgen.pddl.reading.names import MAX_ARITY, declared_objects, known_types, name, signature, typed_list, variable
from oclgen.pddl.reading.source import (
    Group,
    Node,
    Source,
    Word,
    bad,
    one_of,
    read_definition,
    sections,
    shown,
    source,
    unsupported,
)

SECTIONS = frozenset({":requirements", ":types", ":constants", ":predicates", ":functions", ":action"})
REFUSED_SECTIONS = {
    ":derived": "axioms (:derived) are",
    ":axiom": "axioms (:axiom) are",
    ":durative-action": "durative actions (:durative-action) are",
    ":constraints": "trajectory constraints (:constraints) are",
    ":process": "processes (:process) are",
    ":event": "events (:event) are",
    ":task": "task networks (:task) are",
    ":method": "task networks (:method) are",
    ":class": "modules (:class) are",
}
REQUIREMENTS = frozenset(
    f":{word}"
    for word in (
        *("strips", "typing", "negative-preconditions", "disjunctive-preconditions", "equality"),
        *("existential-preconditions", "universal-preconditions", "quantified-preconditions", "conditional-effects"),
        *("fluents", "numeric-fluents", "object-fluents", "adl", "durative-actions", "duration-inequalities"),
        *("continuous-effects", "derived-predicates", "timed-initial-literals", "preferences", "constraints"),
        *("action-costs", "goal-utilities", "time"),
    )
)


def read_domain(domain: Path | str) -> DomainInfo:
    """The checked summary of a domain file or text."""
    return parse_domain(source(domain, "domain"))


@lru_cache(maxsize=16)
def parse_domain(origin: Source) -> DomainInfo:
    """Remembers the last few domains, because thousands of problems share one."""
    title, root = read_definition(origin, "domain")
    found = sections(root, SECTIONS, REFUSED_SECTIONS)
    single = single_sections(found, repeatable=":action")
    requirements(single.get(":requirements"))
    types = _types(single.get(":types"))
    constants: dict[str, str] = {}
    for node, kind in declared_objects(_body(single.get(":constants")), "the constants", types):
        _fresh(node, constants, "constant")
        constants[str(node)] = kind
    predicates = _signatures(_body(single.get(":predicates")), "a predicate", types)
    functions = _functions(_body(single.get(":functions")), types)
    info = DomainInfo(name(title, "the domain"), types, constants, predicates, functions, {})
    for keyword, group in found:
        if keyword == ":action":
            operator = _operator(group, info)
            _fresh(group[1], info.operators, "action")
            info.operators[operator.name] = operator
    return info


def single_sections(found: list[tuple[str, Group]], repeatable: str = "") -> dict[str, Group]:
    single: dict[str, Group] = {}
    for keyword, group in found:
        if keyword in single and keyword != repeatable:
            raise bad(group, f"second {keyword} section (the first is in line {single[keyword].line})")
        single[keyword] = group
    return single


def requirements(group: Group | None) -> None:
    """A requirement by itself refuses nothing (many files ask for more than they use), but it must exist."""
    for word in _body(group):
        if not one_of(word, REQUIREMENTS):
            raise bad(word, f"unknown requirement {shown(word)}")


def _body(group: Group | None) -> list[Node]:
    return [] if group is None else group[1:]


def _fresh(node: Node, taken: Container[str], what: str) -> None:
    if one_of(node, taken):
        raise bad(node, f"{what} {shown(node)} is declared twice")


def _types(group: Group | None) -> dict[str, str | None]:
    """Type -> parent; a parent that is only mentioned hangs under `object`."""
    types: dict[str, str | None] = {ROOT_TYPE: None}
    for node, parents in typed_list(_body(group), "the types"):
        kind = name(node, "a type")
        for parent in parents:
            _add_type(node, kind, str(parent), types)
        types.setdefault(kind, ROOT_TYPE)
    for mentioned in {parent for parent in types.values() if parent is not None} - types.keys():
        types[mentioned] = ROOT_TYPE
    if group is not None:
        _no_cycle(types, group)
    return types


def _add_type(node: Node, kind: str, parent: str, types: dict[str, str | None]) -> None:
    """A type may be declared again, as long as only one parent says more than `object`."""
    known = types.get(kind)
    if kind == ROOT_TYPE and parent != ROOT_TYPE:
        raise bad(node, "type object stands above all others and cannot have a parent")
    if known in (None, ROOT_TYPE, parent) and kind != ROOT_TYPE:
        types[kind] = parent
    elif parent not in (ROOT_TYPE, known):
        raise unsupported(node, f"type {kind} with several parents is")


def _no_cycle(types: dict[str, str | None], group: Group) -> None:
    safe = {ROOT_TYPE}
    for kind in types:
        chain: dict[str, None] = {}
        step: str | None = kind
        while step is not None and step not in safe:
            if step in chain:
                raise bad(group, f"type {step} is its own ancestor")
            chain[step] = None
            step = types[step]
        safe.update(chain)


def _signatures(nodes: list[Node], what: str, types: dict[str, str | None]) -> dict[str, Signature]:
    found: dict[str, Signature] = {}
    for node in nodes:
        declared = signature(node, what, types)
        if declared.name in found:
            raise bad(node, f"{declared.name} is declared twice")
        found[declared.name] = declared
    return found


def _functions(nodes: list[Node], types: dict[str, str | None]) -> dict[str, Signature]:
    entries = typed_list(nodes, "the functions")
    for node, kinds in entries:
        if kinds and kinds != ["number"]:
            raise unsupported(node, f"function {shown(node)} with objects as values is")
    return _signatures([node for node, _ in entries], "a function", types)


def _operator(group: Group, info: DomainInfo) -> Operator:
    if len(group) < 2:
        raise bad(group, "an action without a name")
    title = name(group[1], "an action")
    parts = _action_parts(group, title)
    parameters: dict[str, tuple[str, ...]] = {}
    for node, words in _typed_parameters(parts.get(":parameters"), title):
        _fresh(node, parameters, f"in action {title}: variable")
        parameters[variable(node, f"action {title}")] = known_types(words, info.types)
    if len(parameters) > MAX_ARITY:
        raise unsupported(group, f"action {title} with more than {MAX_ARITY} parameters is")
    scope = {constant: (kind,) for constant, kind in info.constants.items()} | parameters
    precondition = condition(parts[":precondition"], info, scope) if ":precondition" in parts else ALWAYS
    effects, costs = effect(parts[":effect"], info, scope) if ":effect" in parts else ([], [])
    return Operator(title, tuple(parameters), tuple(parameters.values()), precondition, tuple(effects), tuple(costs))


def _typed_parameters(node: Node | None, title: str) -> list[tuple[Node, list[Word]]]:
    if node is None:
        return []
    if not isinstance(node, Group):
        raise bad(node, f"expected the parameters of action {title} in parentheses, not {shown(node)!r}")
    return typed_list(list(node), f"the parameters of action {title}")


def _action_parts(group: Group, title: str) -> dict[str, Node]:
    parts: dict[str, Node] = {}
    rest = iter(group[2:])
    for keyword in rest:
        if not one_of(keyword, {":parameters", ":precondition", ":effect"}):
            raise bad(
                keyword, f"in action {title}: expected :parameters, :precondition or :effect, not {shown(keyword)!r}"
            )
        if keyword in parts:
            raise bad(keyword, f"in action {title}: second {keyword}")
        value = next(rest, None)
        if value is None or (isinstance(value, Word) and value.startswith(":")):
            raise bad(keyword, f"in action {title}: nothing after {keyword}")
        parts[str(keyword)] = value
    return parts
