"""A relational model without torch: both of its heads on the compiled kernel.

One pass of the encoder turns a state into rows, which serve the cost head at once and plans from that state later.
States of any size share a batch without padding. Results depend neither on what shares a batch nor on the number of
threads.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from oclgen.inference.engine import FloatArray, IntArray
from oclgen.inference.kernel import PANEL, address, load_kernel
from oclgen.inference.native_model import Linear, aligned, pad
from oclgen.inference.relational_session import Prompt, RelationalSession
from oclgen.inference.relational_weights import (
    CostWeights,
    DecoderWeights,
    EncoderWeights,
    RelationalShape,
    SchemaCounts,
)
from oclgen.inference.workers import Workers

Atoms = Sequence[IntArray]
"""For each relation an array [atoms, arity] of rows."""

STATE = np.dtype([("distances", np.uintp), ("atoms", np.uintp), ("rows", np.int32)], align=True)
"""As relational.c explains it."""
BATCH_ROWS = 512
"""Rows that go through the encoder together: more would only push each other out of the processor's cache."""
SMALLEST_SCALE = 0.3


class ProblemArrays(Protocol):
    """What the states of a problem share."""

    @property
    def kinds(self) -> IntArray:
        """[rows]"""
        ...

    @property
    def noise(self) -> FloatArray:
        """[rows, 16]"""
        ...

    @property
    def distances(self) -> npt.NDArray[np.int8] | None:
        """[rows, rows]"""
        ...


class Rows:
    """An encoded state."""

    __slots__ = ("final", "prompt")

    def __init__(self, final: FloatArray) -> None:
        self.final = final
        self.prompt: Prompt | None = None

    @property
    def nbytes(self) -> int:
        return self.final.nbytes + (self.prompt.nbytes if self.prompt else 0)


class RelationalEngine:
    """Encoder, plans and costs of one relational model."""

    def __init__(
        self,
        settings: RelationalShape,
        schema_counts: SchemaCounts,
        weights: Mapping[str, FloatArray],
        variant: str | None = None,
        threads: int = 1,
    ) -> None:
        self._kernel = load_kernel(variant)
        self._encoder = EncoderWeights(self._kernel, settings, schema_counts, weights)
        self._decoder = DecoderWeights(self._kernel, settings, schema_counts, weights)
        self._width = self._encoder.width
        self._cost = CostWeights(self._kernel, self._width, weights)
        self._workers = Workers(threads)
        self._operators = len(schema_counts.operators)
        self._arities = schema_counts.relations
        self._uses_distances = settings.distances
        kinds = weights["kind.weight"]
        self._kinds = pad(kinds, len(kinds), self._width)
        noise = weights["noise.weight"]
        self._noise = Linear(self._kernel, pad(noise, self._width, noise.shape[1]), np.zeros(self._width, np.float32))
        self._embedded: tuple[ProblemArrays, FloatArray] | None = None
        self.max_plan = settings.max_plan

    def encode(self, problem: ProblemArrays, states: Sequence[Atoms]) -> list[Rows]:
        """The rows of states of one problem."""
        return self.encode_all([(problem, atoms) for atoms in states])

    def encode_all(self, states: Sequence[tuple[ProblemArrays, Atoms]]) -> list[Rows]:
        """The rows of states of any problems."""
        embedded = {id(problem): self._embed(problem) for problem, _ in states}
        groups = self._groups([len(embedded[id(problem)]) for problem, _ in states])
        parts = self._workers.map(lambda group: self._encode(states[group], embedded), groups)
        return [rows for part in parts for rows in part]

    def costs(self, rows: Sequence[Rows]) -> FloatArray:
        """[states, 2]: mean and scale of each state's cost-to-go."""
        parts = self._workers.split(len(rows), 1)
        return np.concatenate(self._workers.map(lambda part: self._costs(rows[part]), parts))

    def open(self, prompts: Sequence[Rows], rows: Sequence[int], capacity: int) -> RelationalSession:
        """`rows[i]` plans from the state `prompts[i]`; each will be fed `capacity` tokens at most."""
        missing = list({id(each): each for each in prompts if each.prompt is None}.values())
        prepared = self._workers.map(lambda each: Prompt(self._kernel, self._decoder, each.final), missing)
        for each, prompt in zip(missing, prepared, strict=True):
            each.prompt = prompt
        ready = [each.prompt for each in prompts if each.prompt is not None]
        return RelationalSession(self._kernel, self._decoder, self._workers, self._operators, ready, rows, capacity)

    def _embed(self, problem: ProblemArrays) -> FloatArray:
        """The rows of a problem before the first layer; those of the last problem are kept."""
        last = self._embedded
        if last is None or last[0] is not problem:
            noise = np.ascontiguousarray(problem.noise, np.float32)
            last = self._embedded = problem, self._noise(noise) + self._kinds[problem.kinds]
        return last[1]

    def _groups(self, lengths: Sequence[int]) -> list[slice]:
        """Consecutive states that are encoded together: a bounded number of rows, and work for every thread."""
        most = min(BATCH_ROWS, -(-sum(lengths) // self._workers.threads))
        groups, first, rows = [], 0, 0
        for i, length in enumerate(lengths):
            if i > first and rows + length > most:
                groups.append(slice(first, i))
                first, rows = i, 0
            rows += length
        return [*groups, slice(first, len(lengths))] if lengths else []

    def _encode(self, states: Sequence[tuple[ProblemArrays, Atoms]], embedded: Mapping[int, FloatArray]) -> list[Rows]:
        table = np.zeros(len(states), STATE)
        counts = np.array([[len(each) for each in atoms] for _, atoms in states], np.int32).reshape(len(states), -1)
        flat = [self._flatten(atoms, len(embedded[id(problem)])) for problem, atoms in states]
        table["atoms"] = [address(each) for each in flat]
        table["rows"] = [len(embedded[id(problem)]) for problem, _ in states]
        distances = [self._distances(problem) for problem, _ in states]
        table["distances"] = [0 if each is None else address(each) for each in distances]
        x = np.concatenate([embedded[id(problem)] for problem, _ in states])
        final = aligned(x.size).reshape(x.shape)
        if self._kernel.encode(
            self._encoder.place, len(states), address(table), address(counts), address(x), address(final)
        ):
            raise MemoryError("no memory for the rows of a batch")
        ends = np.cumsum(table["rows"])
        return [Rows(final[end - length : end].copy()) for end, length in zip(ends, table["rows"], strict=True)]

    def _flatten(self, atoms: Atoms, rows: int) -> IntArray:
        assert len(atoms) == len(self._arities)
        if not atoms:
            return np.zeros(0, np.int32)
        flat = np.concatenate([each.reshape(-1) for each in atoms])
        if flat.size and (flat.min() < 0 or flat.max() >= rows):
            raise ValueError("an atom names a row that is not there")
        return flat.astype(np.int32, copy=False)

    def _distances(self, problem: ProblemArrays) -> npt.NDArray[np.int8] | None:
        if not self._uses_distances or problem.distances is None:
            return None
        return np.ascontiguousarray(problem.distances, np.int8)

    def _costs(self, rows: Sequence[Rows]) -> FloatArray:
        sums = np.empty((len(rows), 2), np.float64)
        longest = max((len(each.final) for each in rows), default=0)
        hidden, shares = aligned(longest * self._width), aligned(longest * PANEL)
        for each, result in zip(rows, sums, strict=True):
            self._kernel.cost(
                self._width,
                len(each.final),
                address(each.final),
                *self._cost.places,
                address(hidden),
                address(shares),
                address(result),
            )
        sums[:, 1] = np.sqrt(sums[:, 1]) + SMALLEST_SCALE
        return sums.astype(np.float32)
