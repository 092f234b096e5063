"""Which token stands for each object of one task.

Objects of a meaningful pool keep their names. Objects of another pool keep theirs if the pool has
tokens of all these names, and otherwise take its tokens in the order of their declaration.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from oclgen.encoding.vocabulary import Pool, Vocabulary
from oclgen.errors import UnsupportedError
from oclgen.interfaces import Atom

Goal = tuple[Iterable[Atom], Iterable[Atom]]
"""Atoms that must hold, atoms that must not."""

NO_GOAL: Goal = ((), ())


class BindableTask(Protocol):
    """What a binding takes from a task (`oclgen.pddl.task.PddlTask` provides it)."""

    @property
    def predicates(self) -> Mapping[str, int]: ...
    @property
    def operators(self) -> Mapping[str, int]: ...
    @property
    def static_predicates(self) -> frozenset[str]: ...
    @property
    def objects(self) -> Mapping[str, str]: ...
    @property
    def static_atoms(self) -> frozenset[Atom]: ...
    @property
    def goal(self) -> tuple[frozenset[Atom], frozenset[Atom]]: ...


class Binding:
    """Objects <-> tokens of one task, and its parts that no action changes: static atoms and goal.

    `cache` holds what an encoding has already computed for this task.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        objects: Mapping[str, str],
        static_atoms: Iterable[Atom] = (),
        goal: Goal = NO_GOAL,
    ) -> None:
        self.vocabulary = vocabulary
        self.token: dict[str, int] = _assign(vocabulary, objects)
        self.object: dict[int, str] = {token: name for name, token in self.token.items()}
        self.static_atoms = frozenset(static_atoms)
        self.goal = (frozenset(goal[0]), frozenset(goal[1]))
        self.cache: dict[str, Any] = {}


def bind(vocabulary: Vocabulary, task: BindableTask) -> Binding:
    """The binding of a task; refuses another domain, and objects beyond the vocabulary, naming the bound."""
    _same_domain(vocabulary, task)
    return Binding(vocabulary, task.objects, task.static_atoms, task.goal)


def _same_domain(vocabulary: Vocabulary, task: BindableTask) -> None:
    known = {f"predicate '{each.name}'": (each.arity, each.static) for each in vocabulary.predicates}
    known |= {f"action '{each.name}'": (each.arity, False) for each in vocabulary.operators}
    unseen = task.static_predicates & set(vocabulary.left_out)
    asked = {
        f"predicate '{name}'": (arity, name in task.static_predicates)
        for name, arity in task.predicates.items()
        if name not in unseen
    }
    asked |= {f"action '{name}'": (arity, False) for name, arity in task.operators.items()}
    for symbol in sorted(known.keys() | asked.keys()):
        if known.get(symbol) != asked.get(symbol):
            raise UnsupportedError(f"this model was trained on another domain {vocabulary.domain}: {symbol} differs")


def _assign(vocabulary: Vocabulary, objects: Mapping[str, str]) -> dict[str, int]:
    constants = {name: vocabulary.object_ids[name] for name in vocabulary.constants}
    members: dict[Pool, list[str]] = {}
    for name, type_name in objects.items():
        if name not in constants:
            members.setdefault(_pool(vocabulary, name, type_name), []).append(name)
    tokens = constants
    for pool, names in members.items():
        tokens.update(_assign_pool(vocabulary, pool, names))
    return tokens


def _pool(vocabulary: Vocabulary, name: str, type_name: str) -> Pool:
    pool = vocabulary.pool_of_type.get(type_name)
    if pool is None:
        known = ", ".join(sorted(vocabulary.pool_of_type)) or "none"
        raise UnsupportedError(
            f"object '{name}' has type '{type_name}', for which this model of {vocabulary.domain} has no tokens"
            f" (types with tokens: {known})"
        )
    return pool


def _assign_pool(vocabulary: Vocabulary, pool: Pool, names: list[str]) -> dict[str, int]:
    ids = vocabulary.pool_ids(pool)
    own = {name: vocabulary.object_ids.get(name, -1) for name in names}
    outside = [name for name, token in own.items() if token not in ids]
    if not outside:
        return own
    kind = "/".join(pool.types)
    if pool.meaningful:
        raise UnsupportedError(
            f"object '{outside[0]}' of type {kind} is outside this model's vocabulary of {vocabulary.domain}:"
            f" {len(pool.names)} names, {_span(pool)}"
        )
    if len(names) > len(ids):
        raise UnsupportedError(
            f"{len(names)} objects of type {kind}; this model of {vocabulary.domain} knows at most {len(ids)}"
        )
    return dict(zip(names, ids, strict=False))


def _span(pool: Pool) -> str:
    return f"'{pool.names[0]}' to '{pool.names[-1]}'" if pool.names else "none"
