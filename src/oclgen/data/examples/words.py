"""Training batches of words: examples, their objects renamed, as padded arrays.

An example is one plan from one offset on: the state there, the goal, and the actions that remain (policy) or how
many they are (heuristic). `batches.py` decides which examples make a batch.

Object names that carry no meaning are permuted inside their pool, anew for every example, over the whole pool:
a model trained on 25 blocks sees all 40 names.

Paper: Section 4.5 and Appendix "Data Augmentation via Action Compilation"; shuffled names: the appendix's
experiment on larger numbers of blocks.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from oclgen.data.examples.batches import (
    Batch,
    BatchSettings,
    BatchStream,
    Epoch,
    Longs,
    Position,
    cut,
    padded,
    plan_lengths,
    plans_of,
    ranges,
)
from oclgen.data.examples.words_store import GOAL_FALSE, WordsStore
from oclgen.encoding import Vocabulary
from oclgen.encoding.kinds import WORDS
from oclgen.encoding.vocabulary import BEGIN, GOAL, NOT
from oclgen.errors import InputError


@dataclass(frozen=True)
class WordsBatchSettings(BatchSettings):
    """A policy's or a heuristic's batches, with names shuffled or not."""

    kind: str
    shuffle_names: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.kind not in WORDS.checkpoints:
            raise InputError(f"no batches of kind '{self.kind}'")
        BatchSettings.__post_init__(self)


class WordsExamples(BatchStream):
    """The stream of batches from a store."""

    def __init__(self, store: WordsStore, vocabulary: Vocabulary, settings: WordsBatchSettings) -> None:
        self.store = store
        self.vocabulary = vocabulary
        self.settings = settings
        self.epoch = lru_cache(maxsize=2)(self._epoch)

    @property
    def size(self) -> int:
        return len(self.store)

    def batch(self, position: Position, rank: int = 0, world: int = 1) -> Batch:
        epoch = self.epoch(position.epoch)
        instances = epoch.batches[position.batch]
        names = self._names(len(instances), position)[rank::world]
        instances = instances[rank::world]
        places = epoch.places(instances)
        offset = epoch.offset[places]
        prompt, prompt_len = self._prompts(instances, offset, names)
        if self.settings.kind == "heuristic":
            cost = self.store.step_begin[instances + 1] - self.store.step_begin[instances] - 1 - offset
            return {"prompt": prompt, "prompt_len": prompt_len, "cost": cost}
        plan, plan_len = self._plans(instances, offset, epoch.plan_len[places], names)
        return {"prompt": prompt, "prompt_len": prompt_len, "plan": plan, "plan_len": plan_len}

    def _epoch(self, number: int) -> Epoch:
        store, settings = self.store, self.settings
        rng = np.random.default_rng([settings.seed, number, 0])
        plans = plans_of(number, len(store), settings.seed)
        length = store.step_begin[plans + 1] - store.step_begin[plans] - 1
        choices = length + 1 if settings.kind == "heuristic" else np.maximum(length, 1)
        chosen = rng.random(len(plans)) * choices
        offset = chosen.astype(np.int64) if settings.compile else np.zeros_like(plans)
        prompt_len = store.step_words[store.step_begin[plans] + offset].astype(np.int64)
        policy = settings.kind == "policy"
        plan_len = plan_lengths(store, plans, offset, settings.window) if policy else 0 * prompt_len
        batches = cut(prompt_len, plan_len, settings, rng)
        shuffled = [plans[batches[i]] for i in rng.permutation(len(batches))]
        return Epoch(plans, offset, prompt_len, plan_len, shuffled)

    def _names(self, examples: int, position: Position) -> Longs:
        """For each example a table: argument (as in the store's rows, 0 = none) -> argument under its new name."""
        table = np.tile(np.arange(len(self.vocabulary.objects) + 1), (examples, 1))
        if self.settings.shuffle_names:
            self._shuffle(table, np.random.default_rng([self.settings.seed, position.epoch, 1 + position.batch]))
        return table

    def _shuffle(self, table: Longs, rng: np.random.Generator) -> None:
        for pool in self.vocabulary.pools:
            if not pool.meaningful:
                ids = self.vocabulary.pool_ids(pool)
                first = ids.start - self.vocabulary.first_object + 1
                columns = slice(first, first + len(ids))
                table[:, columns] = rng.permuted(table[:, columns], axis=1)

    def _prompts(self, instances: Longs, offset: Longs, names: Longs) -> tuple[Longs, Longs]:
        rows, owner = state_rows(self.store, instances, offset)
        rows[:, 2:] = names[owner[:, None], rows[:, 2:]]
        tokens, owner = to_words(rows, owner, len(instances), self.vocabulary)
        return padded(tokens[:, None], owner, len(instances))

    def _plans(self, instances: Longs, offset: Longs, plan_len: Longs, names: Longs) -> tuple[Longs, Longs]:
        store = self.store
        begin = store.plan_begin[instances] + store.step_token[store.step_begin[instances] + offset]
        flat, owner = ranges(begin, begin + plan_len)
        tokens = store.plan[flat].astype(np.int64)
        shift = self.vocabulary.first_object - 1
        argument = np.maximum(tokens - shift, 0)
        tokens = np.where(argument > 0, names[owner, argument] + shift, tokens)
        plan, _ = padded(tokens[:, None], owner, len(instances))
        return plan[:, :, 0], plan_len


def state_rows(store: WordsStore, instances: Longs, offset: Longs) -> tuple[Longs, Longs]:
    """Rows (state and goal) of each instance at its offset, and the example that each row belongs to."""
    flat, owner = ranges(store.row_begin[instances], store.row_begin[instances + 1])
    step = offset[owner]
    true = (store.start[flat] <= step) & (step < store.stop[flat])
    return store.rows[flat[true]].astype(np.int64), owner[true]


def canonical_order(rows: Longs, owner: Longs, vocabulary: Vocabulary) -> Longs:
    """Example by example, and inside one as the encoding does: state before goal, then by ids."""
    columns = [owner, rows[:, 1], rows[:, 0], *rows[:, 2:].T]
    sizes = [3, len(vocabulary.predicates), *[len(vocabulary.objects) + 1] * vocabulary.slots]
    if np.prod([float(owner[-1] + 1) if len(owner) else 1.0, *sizes], dtype=float) >= 2.0**62:
        return np.lexsort(columns[::-1])
    key = columns[0]
    for column, size in zip(columns[1:], sizes, strict=True):
        key = key * size + column
    return np.argsort(key)


def to_words(rows: Longs, owner: Longs, examples: int, vocabulary: Vocabulary) -> tuple[Longs, Longs]:
    """The words of each example's prompt, one after the other, and the example that each word belongs to."""
    order = canonical_order(rows, owner, vocabulary)
    rows, owner = rows[order], owner[order]
    words = rows[:, 2:] + (vocabulary.first_object - 1)
    words = np.column_stack([np.full(len(rows), NOT), rows[:, 0] + vocabulary.first_predicate, words])
    used = np.column_stack([rows[:, 1] == GOAL_FALSE, np.ones(len(rows), bool), rows[:, 2:] > 0])
    marks = np.zeros((2 * examples, words.shape[1]), np.int64)
    marks[:examples, 1], marks[examples:, 1] = BEGIN, GOAL
    place = np.concatenate([owner * 4 + 1 + 2 * (rows[:, 1] > 0), np.arange(examples) * 4, np.arange(examples) * 4 + 2])
    order = np.argsort(place, kind="stable")
    used = np.concatenate([used, marks > 0])[order]
    return np.concatenate([words, marks])[order][used], np.repeat(place[order] // 4, used.sum(axis=1))
