"""Solved problems as relations between rows (`oclgen.encoding.relational`), ready for batches.

A goal atom changes its segment when it becomes true or false, so it has spans like the atoms of the state.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from oclgen.data.dataset import Dataset, Row
from oclgen.data.examples.replayed import ALWAYS, Replayed, atom_spans, open_arrays, replayed, store_key
from oclgen.encoding.distances import distances, linked
from oclgen.encoding.kinds import RELATIONAL
from oclgen.encoding.relational import (
    GOAL,
    GOAL_MET,
    NEGATIVE_GOAL,
    NEGATIVE_GOAL_MET,
    SEGMENTS,
    STATE,
    Relation,
    Schema,
    row_kinds,
    schema_of,
)
from oclgen.errors import UnsupportedError
from oclgen.interfaces import Atom
from oclgen.pddl.reading.domain import read_domain

PIECE = 1 << 20
"""Atoms read together."""

Span = tuple[Atom, int, int, int]
"""An atom, its segment, and the steps [first, last + 1) in which it is in that segment."""


@dataclass(frozen=True)
class RelationalStore:
    """The examples of one split. Instance i owns `kinds[row_begin[i]:row_begin[i + 1]]`, and so on."""

    ids: NDArray[np.int64]
    row_begin: NDArray[np.int64]
    kinds: NDArray[np.int16]
    atom_begin: NDArray[np.int64]
    atoms: NDArray[np.int16]  # [all atoms, 1 + slots]: predicate * SEGMENTS + segment, rows of the arguments, -1
    start: NDArray[np.int16]
    stop: NDArray[np.int16]
    step_begin: NDArray[np.int64]  # instance i has its length + 1 steps: before each action, and the end
    step_token: NDArray[np.int32]  # where the step's action begins among the tokens of its plan
    plan_begin: NDArray[np.int64]
    plan: NDArray[np.int16]  # tokens, each plan with its `end`
    distance_begin: NDArray[np.int64]
    distances: NDArray[np.int8]  # [rows, rows] of each instance, flat; nothing where no static atom links two rows
    end_cost: NDArray[np.int32]  # what the last state of each instance costs: 0 at a goal, much in a dead end
    refused: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def length(self) -> NDArray[np.int64]:
        """Number of actions of each plan."""
        return np.diff(self.step_begin) - 1

    def length_of(self, instances: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of actions of some plans."""
        return self.step_begin[instances + 1] - self.step_begin[instances] - 1

    def rows_of(self, instances: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of rows of some problems."""
        return self.row_begin[instances + 1] - self.row_begin[instances]

    @property
    def has_distances(self) -> bool:
        return len(self.distances) > 0

    def relations(self, schema: Schema) -> tuple[Relation, ...]:
        """The relations that occur; a model has weights for these."""
        names = list(schema.predicates)
        found: set[int] = set()
        for begin in range(0, len(self.atoms), PIECE):
            found.update(np.unique(self.atoms[begin : begin + PIECE, 0]).tolist())
        return tuple((names[code // SEGMENTS], code % SEGMENTS) for code in sorted(found))


def open_relational_store(dataset: Dataset, split: str, workers: int = 1) -> RelationalStore:
    """The store of a split, read from beside the data set if it was made before and the data is still the same."""
    encode = partial(_encode_row, dataset.domain_text)
    return open_arrays(RelationalStore, dataset, split, store_key(dataset, RELATIONAL.name), encode, workers)


def _encode_row(domain: str, row: Row) -> RelationalStore:
    return encode_problem(schema_of(read_domain(domain)), row.id, replayed(domain, row))


def encode_problem(schema: Schema, number: int, solved: Replayed) -> RelationalStore:
    """A store of one problem."""
    objects, plan = solved.info.objects, solved.plan
    if max(len(plan), len(objects) + len(schema.operators) + 2) >= ALWAYS:
        raise UnsupportedError(f"examples hold fewer than {ALWAYS} actions and fewer than {ALWAYS} objects")
    rows = {name: index for index, name in enumerate(objects)}
    spans = sorted(_state_spans(solved)) + sorted(_goal_spans(solved))
    steps = [[schema.operator_ids[each[0]], *(schema.first_row + rows[name] for name in each[1:])] for each in plan]
    tokens = np.array([*(token for step in steps for token in step), schema.end], np.int16)
    found = _distances(solved)
    return RelationalStore(
        ids=np.array([number]),
        row_begin=np.array([0, len(objects) + 1]),
        kinds=row_kinds(schema, objects).astype(np.int16),
        atom_begin=np.array([0, len(spans)]),
        atoms=_atom_array(schema, rows, spans),
        start=np.array([begin for _, _, begin, _ in spans], np.int16),
        stop=np.array([end for _, _, _, end in spans], np.int16),
        step_begin=np.array([0, len(plan) + 1]),
        step_token=np.cumsum([0, *map(len, steps)]).astype(np.int32),
        plan_begin=np.array([0, len(tokens)]),
        plan=tokens,
        distance_begin=np.array([0, len(found)]),
        distances=found,
        end_cost=np.array([solved.end_cost], np.int32),
    )


def _distances(solved: Replayed) -> NDArray[np.int8]:
    objects = solved.info.objects
    if not linked(objects, solved.static_atoms):
        return np.zeros(0, np.int8)
    return distances(objects, solved.static_atoms).reshape(-1)


def _atom_array(schema: Schema, rows: Mapping[str, int], spans: list[Span]) -> NDArray[np.int16]:
    codes = {name: index * SEGMENTS for index, name in enumerate(schema.predicates)}
    slots = max(1, *schema.predicates.values()) if schema.predicates else 1
    found = np.full((len(spans), 1 + slots), -1, np.int16)
    for place, (atom, segment, _, _) in enumerate(spans):
        arguments = [rows[name] for name in atom[1:]] or [len(rows)]
        found[place, : 1 + len(arguments)] = [codes[atom[0]] + segment, *arguments]
    return found


def _state_spans(solved: Replayed) -> Iterator[Span]:
    for atom, begin, end in atom_spans(solved.states, solved.static_atoms):
        yield atom, STATE, begin, end


def _goal_spans(solved: Replayed) -> Iterator[Span]:
    wanted, unwanted = solved.info.goal
    for atoms, holds, fails in ((wanted, GOAL_MET, GOAL), (unwanted, NEGATIVE_GOAL, NEGATIVE_GOAL_MET)):
        for atom in atoms:
            true = [atom in state or atom in solved.static_atoms for state in solved.states]
            begin = 0
            for step in range(1, len(true) + 1):
                if step == len(true) or true[step] != true[begin]:
                    yield atom, holds if true[begin] else fails, begin, ALWAYS if step == len(true) else step
                    begin = step
