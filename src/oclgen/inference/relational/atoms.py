"""The states of one problem as flat arrays of rows, a whole batch at a time.

Every atom that a state may have for the network (a changing one, a goal that holds or not, a static one) is a column.
Columns are sorted by relation and rows, so a table of truth, one line per state, read line by line has the atoms in the
kernel's order. Columns of changing atoms are made when the first state has them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oclgen.encoding.relational import GOAL, GOAL_MET, NEGATIVE_GOAL, NEGATIVE_GOAL_MET, STATE, ProblemGraph
from oclgen.inference.engine import IntArray
from oclgen.interfaces import Atom

Atoms = Sequence[IntArray]
"""For each relation an array [atoms, arity] of rows."""
ALWAYS = 0
"""The number of what holds in every state."""


@dataclass(frozen=True, slots=True)
class AtomBatch:
    """The atoms of several states: `rows[ends[i - 1] : ends[i]]` are the argument rows of state `i`, relation by
    relation, `counts[i]` says how many atoms each relation has."""

    counts: IntArray
    rows: IntArray
    ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def of(cls, states: Sequence[Atoms]) -> "AtomBatch":
        shape = len(states), len(states[0]) if states else 0
        counts = np.array([len(part) for atoms in states for part in atoms], np.int32).reshape(shape)
        parts = [part.reshape(-1) for atoms in states for part in atoms]
        rows = np.concatenate(parts).astype(np.int32, copy=False) if parts else np.zeros(0, np.int32)
        return cls(counts, rows, np.cumsum([sum(part.size for part in atoms) for atoms in states], dtype=np.int64))

    def state(self, index: int, arities: Sequence[int]) -> list[IntArray]:
        """One state's atoms, relation by relation."""
        first = int(self.ends[index - 1]) if index else 0
        parts = []
        for count, arity in zip(self.counts[index], arities, strict=True):
            parts.append(self.rows[first : first + count * arity].reshape(-1, arity))
            first += count * arity
        return parts


class AtomColumns:
    """The columns of one problem."""

    def __init__(self, graph: ProblemGraph) -> None:
        self._graph = graph
        self._arities = np.array(graph.arities, np.int64)
        self._numbers: dict[Atom, int] = {}
        self._columns: list[tuple[int, bytes, int, bool]] = []  # relation, rows, number of the atom, whether it holds
        self._stale = True
        for atom in graph.static_atoms:
            self._add(atom, STATE, ALWAYS, holds=True)
        wanted, unwanted = graph.goals
        for atom in wanted:
            self._add_goal(atom, holding=GOAL_MET, missing=GOAL)
        for atom in unwanted:
            self._add_goal(atom, holding=NEGATIVE_GOAL, missing=NEGATIVE_GOAL_MET)

    def batch(self, states: Sequence[Iterable[Atom]]) -> AtomBatch:
        """The atoms of states, of each those that can change."""
        numbers = self._numbers
        lines = [[numbers.get(atom) or self._number(atom) for atom in atoms] for atoms in states]
        if self._stale:
            self._sort()
        holding = np.zeros((len(lines), len(numbers) + 1), np.bool_)
        holding[:, ALWAYS] = True
        lengths = [len(line) for line in lines]
        flat = np.array([number for line in lines for number in line], np.intp)
        holding[np.repeat(np.arange(len(lines)), lengths), flat] = True
        line, column = np.nonzero(holding[:, self._sources] == self._wanted)
        relations = len(self._arities)
        counts = np.bincount(line * relations + self._relations[column], minlength=len(lines) * relations)
        counts = counts.reshape(len(lines), relations)
        rows = self._rows[column][self._filled[column]]
        return AtomBatch(counts.astype(np.int32), rows, np.cumsum(counts @ self._arities))

    def _number(self, atom: Atom) -> int:
        """The number of an atom that can change; a new one gets its column."""
        number = self._numbers.get(atom)
        if number is None:
            number = self._numbers[atom] = len(self._numbers) + 1
            self._add(atom, STATE, number, holds=True)
        return number

    def _add_goal(self, atom: Atom, holding: int, missing: int) -> None:
        if atom[0] in self._graph.schema.static:
            self._add(atom, holding if atom in self._graph.static_atoms else missing, ALWAYS, holds=True)
            return
        number = self._number(atom)
        self._add(atom, holding, number, holds=True)
        self._add(atom, missing, number, holds=False)

    def _add(self, atom: Atom, segment: int, number: int, holds: bool) -> None:
        relation, rows = self._graph.placed(atom, segment)
        if relation >= 0:
            self._columns.append((relation, rows, number, holds))
            self._stale = True

    def _sort(self) -> None:
        self._columns.sort()
        self._stale = False
        widest = max(self._graph.arities, default=1)
        self._relations = np.array([relation for relation, *_ in self._columns], np.intp)
        self._sources = np.array([number for _, _, number, _ in self._columns], np.intp)
        self._wanted = np.array([holds for *_, holds in self._columns], np.bool_)
        self._filled = np.arange(widest) < self._arities[self._relations][:, None]
        self._rows = np.zeros(self._filled.shape, np.int32)
        self._rows[self._filled] = np.frombuffer(b"".join(rows for _, rows, *_ in self._columns), ">i4")
