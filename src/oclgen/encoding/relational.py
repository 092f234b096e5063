"""Problems without names: objects are rows, atoms are tuples of rows, plans point at rows.

A row is an object and has the kind of its type; one more row, the last, stands for the whole problem and is the
argument of atoms without arguments. Constants belong to the domain, so each has a kind of its own. A relation is a
predicate in one of five segments: the state, a goal that does not hold yet, a goal that holds, a negative goal that
is violated, a negative goal that is met. Nothing bounds the number of objects and nothing is configured per domain.

Tokens of a plan: operators in the order of the domain file, then `end`, then rows.

Not in the paper, whose models know objects by name (`words`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oclgen.encoding.distances import distances
from oclgen.interfaces import Action, Atom
from oclgen.pddl.model import ROOT_TYPE, DomainInfo

STATE, GOAL, GOAL_MET, NEGATIVE_GOAL, NEGATIVE_GOAL_MET = range(5)
SEGMENTS = 5
NOISE = 16
"""Random numbers per row, by which a model tells equal objects apart."""
NOISE_SEED = 20_261_118

Relation = tuple[str, int]
"""A predicate and a segment."""
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Schema:
    """What a domain says about rows, atoms and plans."""

    domain: str
    types: tuple[str, ...]
    constants: tuple[str, ...]
    predicates: Mapping[str, int]
    static: frozenset[str]
    operators: Mapping[str, int]

    @cached_property
    def kinds(self) -> dict[str, int]:
        """The kind of each type; of a constant under its own name, marked so that no type is called the same."""
        kinds = {name: index for index, name in enumerate(self.types)}
        kinds |= {f"constant {name}": len(self.types) + index for index, name in enumerate(self.constants)}
        return kinds

    @property
    def global_kind(self) -> int:
        return len(self.types) + len(self.constants)

    @property
    def kind_count(self) -> int:
        return self.global_kind + 1

    @cached_property
    def operator_ids(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.operators)}

    @cached_property
    def operator_arities(self) -> tuple[int, ...]:
        return tuple(self.operators.values())

    @property
    def end(self) -> int:
        return len(self.operators)

    @property
    def first_row(self) -> int:
        """The token of row 0."""
        return len(self.operators) + 1

    def kind(self, name: str, type_name: str) -> int:
        return self.kinds[f"constant {name}" if name in self.constants else type_name]

    def relation_arity(self, predicate: str) -> int:
        return max(1, self.predicates[predicate])

    def all_relations(self) -> tuple[Relation, ...]:
        return tuple((name, segment) for name in self.predicates for segment in range(SEGMENTS))


def schema_of(domain: DomainInfo) -> Schema:
    return Schema(
        domain.name,
        tuple(sorted({*domain.types, ROOT_TYPE})),
        tuple(sorted(domain.constants)),
        {name: signature.arity for name, signature in domain.predicates.items()},
        domain.static_predicates,
        {name: operator.arity for name, operator in domain.operators.items()},
    )


class RelationalTask(Protocol):
    """What a problem graph takes from a task (`oclgen.pddl.task.PddlTask` provides it)."""

    @property
    def objects(self) -> Mapping[str, str]: ...
    @property
    def static_atoms(self) -> frozenset[Atom]: ...
    @property
    def goal(self) -> tuple[frozenset[Atom], frozenset[Atom]]: ...


class ProblemGraph:
    """One problem as rows; `atoms` turns its states into tuples of rows, relation by relation."""

    def __init__(
        self,
        schema: Schema,
        relations: Sequence[Relation],
        task: RelationalTask,
        with_distances: bool,
        noise: NDArray[np.float32] | None = None,
    ) -> None:
        self.schema = schema
        self.names = tuple(task.objects)
        self.rows = {name: index for index, name in enumerate(self.names)}
        self.size = len(self.names) + 1
        self.kinds: Ints = row_kinds(schema, task.objects)
        self.noise = fixed_noise(self.size) if noise is None else noise
        self.distances = distances(task.objects, task.static_atoms) if with_distances else None
        self._relation = {relation: index for index, relation in enumerate(relations)}
        self.arities = [schema.relation_arity(predicate) for predicate, _ in relations]
        self.static_atoms = task.static_atoms
        self.goals = tuple(sorted(task.goal[0])), tuple(sorted(task.goal[1]))
        self._known: dict[Atom, tuple[int, bytes]] = {}
        self._static = self._grouped(self.placed(atom, STATE) for atom in self.static_atoms)
        self._changing = {
            self._relation[each] for each in relations if each[1] != STATE or each[0] not in schema.static
        }

    def atoms(self, state_atoms: Iterable[Atom]) -> list[Ints]:
        """For each relation the rows of its atoms, [count, arity], sorted; `state_atoms` are those that can change."""
        holding = set(state_atoms)
        known = self._known
        placed = []
        for atom in holding:
            entry = known.get(atom)
            if entry is None:
                entry = known[atom] = self.placed(atom, STATE)
            placed.append(entry)
        placed += self._goal_atoms(holding)
        found = self._grouped(placed)
        return [found[i] if i in self._changing else self._static[i] for i in range(len(found))]

    def tokens(self, action: Action) -> list[int]:
        first = self.schema.first_row
        return [self.schema.operator_ids[action[0]], *(first + self.rows[name] for name in action[1:])]

    def _goal_atoms(self, holding: set[Atom]) -> list[tuple[int, bytes]]:
        wanted, unwanted = self.goals
        placed = []
        for atom in wanted:
            holds = atom in holding or atom in self.static_atoms
            placed.append(self.placed(atom, GOAL_MET if holds else GOAL))
        for atom in unwanted:
            holds = atom in holding or atom in self.static_atoms
            placed.append(self.placed(atom, NEGATIVE_GOAL if holds else NEGATIVE_GOAL_MET))
        return placed

    def placed(self, atom: Atom, segment: int) -> tuple[int, bytes]:
        """The relation of an atom (-1 where the model has none) and the rows of its arguments, in sortable bytes."""
        relation = self._relation.get((atom[0], segment), -1)
        rows = [self.rows[name] for name in atom[1:]] or [self.size - 1]
        return relation, np.array(rows, ">i4").tobytes()

    def _grouped(self, placed: Iterable[tuple[int, bytes]]) -> list[Ints]:
        groups: list[list[bytes]] = [[] for _ in self.arities]
        for relation, rows in placed:
            if relation >= 0:
                groups[relation].append(rows)
        return [
            np.frombuffer(b"".join(sorted(group)), ">i4").astype(np.int32).reshape(-1, arity)
            for group, arity in zip(groups, self.arities, strict=True)
        ]


def row_kinds(schema: Schema, objects: Mapping[str, str]) -> Ints:
    """The kind of each object, then of the global row."""
    return np.array([*(schema.kind(name, kind) for name, kind in objects.items()), schema.global_kind], np.int32)


def fixed_noise(rows: int) -> NDArray[np.float32]:
    """The noise of a problem: the same in every run."""
    return np.random.default_rng(NOISE_SEED).standard_normal((rows, NOISE), np.float32)
