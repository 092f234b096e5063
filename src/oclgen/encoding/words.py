"""The paper's tokens: one per word, in PlanGPT's layout.

`<begin>` sorted facts `<goal>` sorted goals, then (first token of the plan) `<actions>`, the plan, `<end>`. A
fact is its predicate and its objects, an action its operator and its objects. A goal that must be false is preceded by
`<not>`. A prompt is an int32 array [words, 1].

Each atom becomes the big-endian bytes of its words: their byte order is then their numeric order, so that
sorting bytes gives the canonical order. A state costs one look-up per atom, one sort and one join.

Paper: Section 3 (tokenization of PlanGPT).
"""

import struct
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from oclgen.encoding.binding import Binding, Goal
from oclgen.encoding.kinds import WORDS
from oclgen.encoding.vocabulary import BEGIN, GOAL, NOT, Vocabulary
from oclgen.interfaces import Action, Atom

Ids = NDArray[np.int32]

_BIG_ENDIAN = np.dtype(">i4")


def to_bytes(numbers: Sequence[int]) -> bytes:
    return struct.pack(f">{len(numbers)}i", *numbers)


class WordsEncoding:
    """Prompts (state and goal) and actions as ids of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def prompt(self, state_atoms: Iterable[Atom], goal: Goal, binding: Binding) -> Ids:
        """The prompt [words, 1] of any state, static atoms included, and goal."""
        memory = self._memory(binding)
        return _array(memory.state(set(state_atoms)) + memory.goal(goal))

    def prompt_rows(self, atoms: Iterable[Atom], binding: Binding) -> Ids:
        """The same for a state given by its non-static atoms, each once; the rest is the binding's. Fast."""
        memory = self._memory(binding)
        return _array(memory.state(atoms) + memory.tail)

    def action(self, action: Action, binding: Binding) -> list[int]:
        return [self.vocabulary.operator_ids[action[0]], *map(binding.token.__getitem__, action[1:])]

    def atom_words(self, atom: Atom, binding: Binding) -> list[int]:
        predicate = self.vocabulary.first_predicate + self.vocabulary.predicate_indices[atom[0]]
        return [predicate, *(binding.token[name] for name in atom[1:])]

    def _memory(self, binding: Binding) -> "_Memory":
        memory = binding.cache.get(WORDS.name)
        if memory is None:
            memory = binding.cache[WORDS.name] = _Memory(self, binding)
        return cast(_Memory, memory)


def _array(data: bytes) -> Ids:
    return np.frombuffer(data, _BIG_ENDIAN).astype(np.int32).reshape(-1, 1)


class _Words(dict[Atom, bytes]):
    """The bytes of each state atom, computed when first needed; none for predicates that are left out."""

    def __init__(self, encoding: WordsEncoding, binding: Binding) -> None:
        super().__init__()
        self._encoding = encoding
        self._binding = binding

    def __missing__(self, atom: Atom) -> bytes:
        left_out = atom[0] in self._encoding.vocabulary.left_out
        data = self[atom] = b"" if left_out else to_bytes(self._encoding.atom_words(atom, self._binding))
        return data


class _Memory:
    """The encoded parts of one task; `tail` (static atoms and goal) follows the changing part of every state."""

    def __init__(self, encoding: WordsEncoding, binding: Binding) -> None:
        self._encoding = encoding
        self._binding = binding
        self._words_of = _Words(encoding, binding).__getitem__
        self.tail = b"".join(sorted(map(self._words_of, binding.static_atoms))) + self.goal(binding.goal)

    def state(self, atoms: Iterable[Atom]) -> bytes:
        """The sorted facts of a state. Static predicates have the largest ids, so theirs come last."""
        return to_bytes([BEGIN]) + b"".join(sorted(map(self._words_of, atoms)))

    def goal(self, goal: Goal) -> bytes:
        data = to_bytes([GOAL])
        for opening, atoms in zip(([], [NOT]), goal, strict=True):
            kept = {atom for atom in atoms if atom[0] not in self._encoding.vocabulary.left_out}
            data += b"".join(
                sorted(to_bytes([*opening, *self._encoding.atom_words(atom, self._binding)]) for atom in kept)
            )
        return data
