"""Solved problems as compact arrays, from which one comparison gives the state after any number of steps.

Every atom of a problem is kept once for each interval of the plan during which it is true, as
[start, stop) in steps; goal atoms are "true" throughout. The state at step t is then all rows with
start <= t < stop: no replay, no sets, and many examples at once in numpy.

The arrays are computed once, in several processes, and kept beside the data set.
Paper: Section 4.5 (action compilation needs the intermediate states of each plan).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from oclgen.data.dataset import DEAD_END, Dataset, Row
from oclgen.data.examples.arrays import join_arrays
from oclgen.data.examples.replayed import ALWAYS, atom_spans, build_arrays, open_arrays, replayed, store_key
from oclgen.encoding import Binding, Goal, Vocabulary, WordsEncoding
from oclgen.encoding.vocabulary import END
from oclgen.errors import UnsupportedError
from oclgen.interfaces import Action, Atom

PIECE = 1 << 12
"""Plans read together."""

Ints = NDArray[np.int16] | NDArray[np.int32] | NDArray[np.int64]
STATE, GOAL, GOAL_FALSE = range(3)
"""Segments: the state, atoms that must hold in the end, atoms that must not."""


@dataclass(frozen=True)
class WordsStore:
    """The examples of one split. Instance i owns rows `row_begin[i]:row_begin[i + 1]`, and so on."""

    ids: NDArray[np.int64]
    row_begin: NDArray[np.int64]
    rows: NDArray[np.int16]  # [all rows, 2 + slots], see `atom_row`
    start: NDArray[np.int16]
    stop: NDArray[np.int16]
    step_begin: NDArray[np.int64]  # instance i has its length + 1 steps: before each action, and the end
    step_token: NDArray[np.int32]  # where the step's action begins among the tokens of its plan
    step_words: NDArray[np.int32]  # length of the step's prompt
    plan_begin: NDArray[np.int64]
    plan: NDArray[np.int16]  # tokens, each plan with its `<end>`
    refused: int = 0  # solved problems that the vocabulary cannot express

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def length(self) -> NDArray[np.int64]:
        """Number of actions of each plan."""
        return np.diff(self.step_begin) - 1

    def longest_plan(self, window: int) -> int:
        """Tokens of the longest plan, or of the longest window of a plan, with its `<end>`."""
        longest = 0
        for first in range(0, len(self), PIECE):
            begins = self.step_begin[first : first + PIECE + 1]
            last = np.repeat(begins[1:] - 1, np.diff(begins))
            steps = np.arange(begins[0], begins[-1])
            until = np.minimum(steps + window, last) if window else last
            tokens = self.step_token[until] - self.step_token[steps] + (until == last)
            longest = max(longest, int(tokens.max()))
        return longest


def atom_row(atom: Atom, segment: int, binding: Binding) -> list[int]:
    """Predicate, segment, and for each argument slot the object's index among the object tokens plus one; 0 where the
    predicate has no such argument."""
    vocabulary = binding.vocabulary
    arguments = [binding.token[name] - vocabulary.first_object + 1 for name in atom[1:]]
    blank = [0] * (vocabulary.slots - len(arguments))
    return [vocabulary.predicate_indices[atom[0]], segment, *arguments, *blank]


def encode_instance(
    vocabulary: Vocabulary,
    number: int,
    objects: Mapping[str, str],
    goal: Goal,
    states: Sequence[frozenset[Atom]],
    static_atoms: Iterable[Atom],
    plan: Sequence[Action],
) -> WordsStore:
    """A store of one problem; `states` holds the atoms before each action and at the end, static or not."""
    if max(len(plan), vocabulary.size) >= ALWAYS:
        raise UnsupportedError(f"examples hold fewer than {ALWAYS} actions and fewer than {ALWAYS} tokens")
    binding = Binding(vocabulary, objects)
    encoding = WordsEncoding(vocabulary)
    spans = [(atom, STATE, begin, end) for atom, begin, end in sorted(atom_spans(states, static_atoms))]
    for segment, atoms in zip((GOAL, GOAL_FALSE), goal, strict=True):
        spans += [(atom, segment, 0, ALWAYS) for atom in sorted(set(atoms))]
    spans = [span for span in spans if span[0][0] not in vocabulary.left_out]
    rows = np.array([atom_row(atom, segment, binding) for atom, segment, _, _ in spans], np.int16)
    rows = rows.reshape(-1, 2 + vocabulary.slots)
    start = np.array([begin for _, _, begin, _ in spans], np.int16)
    stop = np.array([end for _, _, _, end in spans], np.int16)
    arity = np.array([symbol.arity for symbol in vocabulary.predicates])
    words = 1 + arity[rows[:, 0]] + (rows[:, 1] == GOAL_FALSE)
    steps = [encoding.action(action, binding) for action in plan]
    tokens = np.array([*chain.from_iterable(steps), END], np.int16)
    step_token = np.cumsum([0, *map(len, steps)])
    return WordsStore(
        ids=np.array([number]),
        row_begin=np.array([0, len(rows)]),
        rows=rows,
        start=start,
        stop=stop,
        step_begin=np.array([0, len(states)]),
        step_token=step_token.astype(np.int32),
        step_words=_sums(start, stop, words, len(states)) + np.int32(2),
        plan_begin=np.array([0, len(tokens)]),
        plan=tokens,
    )


def _sums(start: NDArray[np.int16], stop: NDArray[np.int16], weight: Ints, steps: int) -> NDArray[np.int32]:
    """For each step the summed weight of the rows true in it."""
    change = np.zeros(steps + 1, np.int64)
    np.add.at(change, start, weight)
    np.add.at(change, np.minimum(stop, steps), -weight)
    return np.cumsum(change[:-1]).astype(np.int32)


def open_store(dataset: Dataset, split: str, vocabulary: Vocabulary, workers: int = 1) -> WordsStore:
    """The store of a split, read from beside the data set if it was made before and the data is still the same."""
    key = store_key(dataset, vocabulary.to_json())
    encode = partial(_encode_row, dataset.domain_text, vocabulary)
    return open_arrays(WordsStore, dataset, split, key, encode, workers)


def build_store(dataset: Dataset, split: str, vocabulary: Vocabulary, workers: int = 1) -> WordsStore:
    """The store of a split, in the data set's order. A broken plan stops it; a refused problem is counted."""
    encode = partial(_encode_row, dataset.domain_text, vocabulary)
    return join_arrays(list(build_arrays(dataset, split, encode, workers)))


def _encode_row(domain: str, vocabulary: Vocabulary, row: Row) -> WordsStore:
    if row.outcome == DEAD_END:
        raise UnsupportedError("models of words do not learn dead ends")
    checked = replayed(domain, row)
    info = checked.info
    return encode_instance(
        vocabulary, row.id, info.objects, info.goal, checked.states, checked.static_atoms, checked.plan
    )
