"""Names, typed lists and atoms: the pieces that domain and problem files share, checked as they are read."""

import math
import re
from collections.abc import Mapping

from oclgen.interfaces import Atom
from oclgen.pddl.model import ROOT_TYPE, DomainInfo, Signature
from oclgen.pddl.reading.source import Group, Node, Word, bad, one_of, shown, unsupported

NAME = re.compile(r"[a-z0-9_][!-'*-:<->@-~]*")
VARIABLE = re.compile(r"\?[!-'*-:<->@-~]+")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?")
RESERVED = {"and", "or", "not", "imply", "forall", "exists", "when", "either", "preference", "increase", "assign"}
MAX_ARITY = 100

Scope = Mapping[str, tuple[str, ...]]
"""The terms that may be used somewhere, with the types each may have."""


def name(node: Node, what: str) -> str:
    if not isinstance(node, Word) or not NAME.fullmatch(node):
        raise bad(node, f"expected the name of {what}, not {shown(node)!r}")
    return str(node)


def variable(node: Node, what: str) -> str:
    if not isinstance(node, Word) or not VARIABLE.fullmatch(node):
        raise bad(node, f"expected a variable such as ?x in {what}, not {shown(node)!r}")
    return str(node)


def number(node: Node) -> float | None:
    """A finite number, or None where the node is something else."""
    if not isinstance(node, Word) or not NUMBER.fullmatch(node):
        return None
    value = float(node)
    return value if math.isfinite(value) else None


def typed_list(nodes: list[Node], where: str) -> list[tuple[Node, list[Word]]]:
    """`a b - t c` as [(a, [t]), (b, [t]), (c, [])]; `(either t u)` gives two types."""
    entries: list[tuple[Node, list[Word]]] = []
    waiting: list[Node] = []
    rest = iter(nodes)
    for node in rest:
        if node != "-":
            waiting.append(node)
            continue
        kind = next(rest, None)
        if not waiting or kind is None:
            raise bad(node, f"'-' in {where} needs a name before it and a type after it")
        types = _either(kind)
        entries += [(entry, types) for entry in waiting]
        waiting = []
    return entries + [(entry, []) for entry in waiting]


def _either(node: Node) -> list[Word]:
    if isinstance(node, Word):
        name(node, "a type")
        return [node]
    if len(node) < 2 or node[0] != "either":
        raise bad(node, f"expected a type or (either ...), not {shown(node)}")
    for kind in node[1:]:
        name(kind, "a type")
    return [kind for kind in node[1:] if isinstance(kind, Word)]


def known_types(words: list[Word], types: Mapping[str, str | None]) -> tuple[str, ...]:
    """The declared types of one entry of a typed list; none given means `object`."""
    for word in words:
        if word not in types:
            raise bad(word, f"unknown type {shown(word)}")
    return tuple(dict.fromkeys(str(word) for word in words)) or (ROOT_TYPE,)


def declared_objects(nodes: list[Node], where: str, types: Mapping[str, str | None]) -> list[tuple[Node, str]]:
    """A typed list of objects or constants, each with its one type."""
    entries = []
    for node, words in typed_list(nodes, where):
        name(node, "an object")
        kinds = known_types(words, types)
        if len(kinds) > 1:
            raise unsupported(node, f"object {shown(node)} of several types at once is")
        entries.append((node, kinds[0]))
    return entries


def signature(group: Node, what: str, types: Mapping[str, str | None]) -> Signature:
    """A predicate or function declaration, such as `(on ?x ?y - block)`."""
    if not isinstance(group, Group) or not group:
        raise bad(group, f"expected {what} such as (name ?x ?y), not {shown(group)}")
    title = name(group[0], what)
    if title in RESERVED:
        raise bad(group, f"{title!r} is a word of PDDL and cannot name {what}")
    parameters = typed_list(group[1:], f"{what} {title}")
    if len(parameters) > MAX_ARITY:
        raise unsupported(group, f"{what} {title} with more than {MAX_ARITY} arguments is")
    for node, _ in parameters:
        variable(node, f"{what} {title}")
    return Signature(title, tuple(known_types(words, types) for _, words in parameters))


def applied(group: Group, what: str, signatures: Mapping[str, Signature], scope: Scope, domain: DomainInfo) -> Atom:
    """A predicate or function applied to known terms of fitting number and type."""
    head = group[0] if group else group
    if not one_of(head, signatures):
        raise bad(group, f"unknown {what} {shown(head)}" if group else f"expected a {what}, not ()")
    declared = signatures[str(head)]
    if len(group) - 1 != declared.arity:
        raise bad(group, f"{what} {head} takes {declared.arity} arguments, not {len(group) - 1}: {shown(group)}")
    for position, term in enumerate(group[1:]):
        known = known_term(term, scope)
        kinds = scope[known]
        if not _compatible(known, kinds, declared.types[position], domain):
            wanted = " or ".join(declared.types[position])
            raise bad(term, f"{term} is of type {' or '.join(kinds)}, but {what} {head} wants {wanted} there")
    return tuple(str(word) for word in group)


def known_term(node: Node, scope: Scope) -> str:
    if not isinstance(node, Word):
        raise bad(node, f"expected an object or a variable, not {shown(node)}")
    if node not in scope:
        raise bad(node, f"{'undeclared variable' if node.startswith('?') else 'unknown object'} {shown(node)}")
    return str(node)


def _compatible(term: str, kinds: tuple[str, ...], wanted: tuple[str, ...], domain: DomainInfo) -> bool:
    """An object must be of one of the wanted types; a variable must be able to stand for one that is."""
    if not term.startswith("?"):
        return domain.fits(kinds[0], wanted)
    return any(a in domain.ancestors[b] or b in domain.ancestors[a] for a in kinds for b in wanted)
