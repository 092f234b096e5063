"""What the encodings share: states and goals to bytes, remembered per task.

Each atom becomes the big-endian bytes of its numbers: their byte order is then their numeric order, so that
sorting bytes gives the canonical order. A state costs one look-up per atom, one sort and one join.
"""

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from oclgen.encoding.binding import Binding, Goal
from oclgen.encoding.plans import PlanTokens
from oclgen.interfaces import Atom

Ids = NDArray[np.int32]
STATE, GOAL, GOAL_FALSE = range(3)
"""Segments of a prompt: the state, atoms that must hold in the end, atoms that must not."""

_BIG_ENDIAN = np.dtype(">i4")


def to_bytes(numbers: Sequence[int]) -> bytes:
    return struct.pack(f">{len(numbers)}i", *numbers)


class Encoding(PlanTokens, ABC):
    """(state, goal) prompts and plans as arrays of a vocabulary's ids."""

    name: ClassVar[str]
    columns: int
    before_state: ClassVar[bytes] = b""
    before_goal: ClassVar[bytes] = b""

    @abstractmethod
    def row(self, atom: Atom, segment: int, binding: Binding) -> bytes:
        """The numbers of one atom."""

    @abstractmethod
    def decode_prompt(
        self, array: Ids, binding: Binding
    ) -> tuple[frozenset[Atom], tuple[frozenset[Atom], frozenset[Atom]]]:
        """The state and goal that a prompt stands for."""

    def prompt(self, state_atoms: Iterable[Atom], goal: Goal, binding: Binding) -> Ids:
        """The prompt [length, columns] of any state, static atoms included, and goal."""
        memory = self._memory(binding)
        return self.array(memory.state(set(state_atoms)) + memory.goal(goal))

    def prompt_rows(self, atoms: Iterable[Atom], binding: Binding) -> Ids:
        """The same for a state given by its non-static atoms, each once; the rest is the binding's. Fast."""
        memory = self._memory(binding)
        return self.array(memory.state(atoms) + memory.tail)

    def _memory(self, binding: Binding) -> "_Memory":
        memory = binding.cache.get(self.name)
        if memory is None:
            memory = binding.cache[self.name] = _Memory(self, binding)
        return cast(_Memory, memory)

    def array(self, data: bytes) -> Ids:
        """Rows from their bytes."""
        return np.frombuffer(data, _BIG_ENDIAN).astype(np.int32).reshape(-1, self.columns)


class _Rows(dict[Atom, bytes]):
    """The bytes of each state atom, made on first sight; nothing for predicates left out."""

    def __init__(self, encoding: Encoding, binding: Binding) -> None:
        super().__init__()
        self._encoding = encoding
        self._binding = binding

    def __missing__(self, atom: Atom) -> bytes:
        left_out = atom[0] in self._encoding.vocabulary.left_out
        data = self[atom] = b"" if left_out else self._encoding.row(atom, STATE, self._binding)
        return data


class _Memory:
    """What one encoding remembers of one task; `tail` follows the changing part of every state."""

    def __init__(self, encoding: Encoding, binding: Binding) -> None:
        self._encoding = encoding
        self._binding = binding
        self._row_of = _Rows(encoding, binding).__getitem__
        self.tail = b"".join(sorted(map(self._row_of, binding.static_atoms))) + self.goal(binding.goal)

    def state(self, atoms: Iterable[Atom]) -> bytes:
        """The sorted rows of a state. Static predicates have the largest ids, so theirs come last."""
        return self._encoding.before_state + b"".join(sorted(map(self._row_of, atoms)))

    def goal(self, goal: Goal) -> bytes:
        data = self._encoding.before_goal
        for segment, atoms in zip((GOAL, GOAL_FALSE), goal, strict=True):
            kept = {atom for atom in atoms if atom[0] not in self._encoding.vocabulary.left_out}
            data += b"".join(sorted(self._encoding.row(atom, segment, self._binding) for atom in kept))
        return data
