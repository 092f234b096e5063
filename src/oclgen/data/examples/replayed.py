"""From the rows of a data set to arrays: replay each plan, encode its states, keep the result beside the data.

Every atom of a problem is kept once for each span of steps during which it holds, so that one comparison
gives the state at any step: no replay, no sets, and many examples at once in numpy. The arrays are computed once, in
several processes.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np

from oclgen.data.dataset import DEAD_END, Dataset, Row
from oclgen.data.dataset import parts as dataset_parts
from oclgen.data.examples.arrays import join_arrays, load_arrays, save_arrays
from oclgen.errors import InputError, UnsupportedError
from oclgen.interfaces import Atom, Plan
from oclgen.pddl.checking.validate import BrokenStep, Validator
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.plan_file import parse_plan
from oclgen.support.parallel import run_unordered

FORMAT = 4
ALWAYS = int(np.iinfo(np.int16).max)
"""The end of a span that lasts to the end of the plan."""
JOB_ROWS = 64

Arrays = TypeVar("Arrays")


@dataclass(frozen=True, slots=True)
class Replayed:
    """A valid plan: the changing atoms before each action and at the end, and the static atoms.

    A dead end has no plan and one state; `end_cost` is what it counts as.
    """

    info: ProblemInfo
    plan: Plan
    states: list[frozenset[Atom]]
    static_atoms: frozenset[Atom]
    end_cost: int = 0


def replayed(domain: str, row: Row) -> Replayed:
    """Replay the plan of a row; refuse an invalid one."""
    validator = Validator(domain, row.problem)
    info = validator.info
    plan = parse_plan(row.plan, row.name)
    static_atoms = frozenset(atom for atom in info.init if atom[0] in info.domain.static_predicates)
    try:
        states = validator.states(plan)
    except BrokenStep as broken:
        raise InputError(f"data set row {row.id} ({row.name}): its plan does not work: {broken}") from broken
    if row.outcome == DEAD_END:
        return Replayed(info, plan, states, static_atoms, row.length)
    if validator.open_goal(states[-1] | static_atoms):
        raise InputError(f"data set row {row.id} ({row.name}): its plan does not reach the goal")
    return Replayed(info, plan, states, static_atoms)


def atom_spans(states: Sequence[frozenset[Atom]], static_atoms: Iterable[Atom]) -> Iterator[tuple[Atom, int, int]]:
    """Each atom with each span of steps, [first, last + 1), in which it holds."""
    since: dict[Atom, int] = dict.fromkeys(static_atoms, 0)
    before: frozenset[Atom] = frozenset()
    for step, state in enumerate(states):
        for atom in before - state:
            yield atom, since.pop(atom), step
        since.update((atom, step) for atom in state - before)
        before = state
    for atom, begin in since.items():
        yield atom, begin, ALWAYS


def open_arrays(
    kind: type[Arrays], dataset: Dataset, split: str, key: str, encode: Callable[[Row], Arrays], workers: int
) -> Arrays:
    """The arrays of a split, read from beside the data set if they were made before from the same data."""
    folder = dataset.path / "examples" / f"{split}-{key}"
    if not folder.is_dir():
        save_arrays(build_arrays(dataset, split, encode, workers), folder)
    return load_arrays(kind, folder)


def build_arrays(dataset: Dataset, split: str, encode: Callable[[Row], Arrays], workers: int) -> Iterator[Arrays]:
    """The arrays of a split in parts, in the data set's order. A broken plan stops it; a refused problem is counted."""
    solved = (row for row in dataset.rows(split) if row.length >= 0)
    refused = 0
    last: Any = None
    for found, left_out in in_order(run_unordered(partial(_encode_rows, encode), _chunks(solved), workers)):
        refused += left_out
        if found is not None:
            if last is not None:
                yield last
            last = found
    if last is None:
        raise InputError(f"{dataset.path}: no example in split '{split}' ({refused} problems cannot be encoded)")
    yield replace(last, refused=refused)


def in_order(results: Iterable[tuple[int, Arrays | None, int]]) -> Iterator[tuple[Arrays | None, int]]:
    """Numbered results in the order of their numbers; those that come too early wait in memory."""
    early: dict[int, tuple[Arrays | None, int]] = {}
    following = 0
    for number, found, left_out in results:
        early[number] = found, left_out
        while following in early:
            yield early.pop(following)
            following += 1


def store_key(dataset: Dataset, *made_by: str) -> str:
    """Names what arrays were made from: the data set's parts, which never change, and how they were encoded."""
    parts = [(part.name, part.stat().st_size) for part in dataset_parts(dataset.path)]
    text = json.dumps([FORMAT, parts, dataset.domain_text, *made_by])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _chunks(rows: Iterator[Row]) -> Iterator[tuple[int, list[Row]]]:
    for number in count():
        chunk = list(islice(rows, JOB_ROWS))
        if not chunk:
            return
        yield number, chunk


def _encode_rows(encode: Callable[[Row], Arrays], job: tuple[int, list[Row]]) -> tuple[int, Arrays | None, int]:
    """The job's number, its examples joined to one record if there are any, and how many problems were refused."""
    number, rows = job
    records = []
    for row in rows:
        try:
            records.append(encode(row))
        except UnsupportedError:
            continue
    return number, join_arrays(records) if records else None, len(rows) - len(records)
