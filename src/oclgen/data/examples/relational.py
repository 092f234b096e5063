"""Training batches for relational models: problems side by side as one graph, and the tokens of their plans.

The rows of a batch's examples are numbered consecutively, so relations need no padding; attention uses `place`, which
arranges the rows of each example in a padded line. Every row gets fresh noise.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from oclgen.data.examples.batches import (
    Batch,
    BatchSettings,
    BatchStream,
    Epoch,
    Longs,
    Position,
    check_positive,
    cut,
    padded,
    plan_lengths,
    plans_of,
    ranges,
)
from oclgen.data.examples.relational_store import RelationalStore
from oclgen.encoding.distances import FAR
from oclgen.encoding.relational import NOISE, SEGMENTS, Relation, Schema


@dataclass(frozen=True, kw_only=True)
class RelationalBatchSettings(BatchSettings):
    """`positions` bounds the tokens of a plan."""

    positions: int | None = None

    def __post_init__(self) -> None:
        BatchSettings.__post_init__(self)
        check_positive("positions", self.positions)


class RelationalExamples(BatchStream):
    """The stream of batches from a store, for a model with these relations."""

    def __init__(
        self,
        store: RelationalStore,
        schema: Schema,
        relations: tuple[Relation, ...],
        settings: RelationalBatchSettings,
        with_distances: bool,
    ) -> None:
        self.store, self.schema, self.relations, self.settings = store, schema, relations, settings
        self.with_distances = with_distances
        self.epoch = lru_cache(maxsize=2)(self._epoch)
        codes = {name: index * SEGMENTS for index, name in enumerate(schema.predicates)}
        self._codes = [codes[name] + segment for name, segment in relations]
        self._arities = [schema.relation_arity(name) for name, _ in relations]

    @property
    def size(self) -> int:
        return len(self.store)

    def _epoch(self, number: int) -> Epoch:
        store, settings = self.store, self.settings
        rng = np.random.default_rng([settings.seed, number, 0])
        plans = plans_of(number, len(store), settings.seed)
        rows, length = store.rows_of(plans), store.length_of(plans)
        chosen = (rng.random(len(plans)) * np.maximum(length, 1)).astype(np.int64)
        offset = chosen if settings.compile else np.zeros_like(plans)
        plan_len = plan_lengths(store, plans, offset, settings.window)
        if settings.positions is not None:
            plan_len = np.minimum(plan_len, settings.positions)
        batches = cut(rows, plan_len, settings, rng)
        return Epoch(plans, offset, rows, plan_len, [plans[batches[i]] for i in rng.permutation(len(batches))])

    def batch(self, position: Position, rank: int = 0, world: int = 1) -> Batch:
        epoch = self.epoch(position.epoch)
        instances = epoch.batches[position.batch]
        noise = self._noise(instances, position, rank, world)
        instances = instances[rank::world]
        places = epoch.places(instances)
        offset = epoch.offset[places]
        found = self._rows(instances) | self._atoms(instances, offset)
        found |= self._plans(instances, offset, epoch.plan_len[places])
        cost = self.store.length_of(instances) - offset + self.store.end_cost[instances]
        return found | {"noise": noise, "cost": cost}

    def _noise(self, instances: Longs, position: Position, rank: int, world: int) -> NDArray[np.float32]:
        """Drawn for the whole batch, so that it does not depend on the number of processes."""
        counts = self.store.rows_of(instances)
        rng = np.random.default_rng([self.settings.seed, position.epoch, 1 + position.batch])
        drawn = rng.standard_normal((int(counts.sum()), NOISE), np.float32)
        ends = np.cumsum(counts)
        kept, _ = ranges((ends - counts)[rank::world], ends[rank::world])
        return drawn[kept]

    def _rows(self, instances: Longs) -> Batch:
        store = self.store
        flat, owner = ranges(store.row_begin[instances], store.row_begin[instances + 1])
        place, lengths = padded(np.arange(len(flat))[:, None], owner, len(instances))
        found: Batch = {"kinds": store.kinds[flat].astype(np.int64), "place": place[:, :, 0], "prompt_len": lengths}
        found["back"] = owner * place.shape[1] + (np.arange(len(flat)) - (np.cumsum(lengths) - lengths)[owner])
        if self.with_distances:
            found["distances"] = self._distances(instances, lengths)
        return found

    def _distances(self, instances: Longs, lengths: Longs) -> NDArray[np.int64]:
        longest = int(lengths.max(initial=0))
        found = np.full((len(instances), longest, longest), FAR, np.int64)
        for i, (instance, size) in enumerate(zip(instances.tolist(), lengths.tolist(), strict=True)):
            begin, end = self.store.distance_begin[instance : instance + 2].tolist()
            if end > begin:
                found[i, :size, :size] = self.store.distances[begin:end].reshape(size, size)
            else:
                np.fill_diagonal(found[i, :size, :size], 0)
        return found

    def _atoms(self, instances: Longs, offset: Longs) -> Batch:
        store = self.store
        rows = store.rows_of(instances)
        first = np.cumsum(rows) - rows
        flat, owner = ranges(store.atom_begin[instances], store.atom_begin[instances + 1])
        step = offset[owner]
        there = (store.start[flat] <= step) & (step < store.stop[flat])
        atoms, base = store.atoms[flat[there]].astype(np.int64), first[owner[there]]
        order = np.argsort(atoms[:, 0], kind="stable")
        atoms, base = atoms[order], base[order]
        begin, end = (np.searchsorted(atoms[:, 0], self._codes, side) for side in ("left", "right"))
        found: Batch = {}
        degree = np.zeros(int(rows.sum()))
        for i, arity in enumerate(self._arities):
            part = slice(begin[i], end[i])
            found[f"atoms.{i}"] = atoms[part, 1 : 1 + arity] + base[part, None]
            degree += np.bincount(found[f"atoms.{i}"].reshape(-1), minlength=len(degree))
        found["scale"] = (1.0 / np.sqrt(np.maximum(degree, 1.0))).astype(np.float32)
        return found

    def _plans(self, instances: Longs, offset: Longs, plan_len: Longs) -> Batch:
        """`plan` holds tokens; `due` is 0 where an operator or the end is predicted, i where the i-th argument is."""
        store = self.store
        begin = store.plan_begin[instances] + store.step_token[store.step_begin[instances] + offset]
        flat, owner = ranges(begin, begin + plan_len)
        tokens = store.plan[flat].astype(np.int64)
        starts = np.where(tokens < self.schema.first_row, np.arange(len(tokens)), 0)
        due = np.arange(len(tokens)) - np.maximum.accumulate(starts) if len(tokens) else tokens
        plan, _ = padded(np.column_stack([tokens, due]), owner, len(instances))
        return {"plan": plan[:, :, 0], "due": plan[:, :, 1], "plan_len": plan_len}
