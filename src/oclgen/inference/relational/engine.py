"""A relational model without torch: both of its heads on the compiled kernel.

One pass of the encoder turns a state into rows, which serve the cost head at once and plans from that state later.
States of any size share a batch without padding. Results depend neither on what shares a batch nor on the number of
threads.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from oclgen.inference.engine import FloatArray, IntArray
from oclgen.inference.kernel.binding import PANEL, address, load_kernel
from oclgen.inference.kernel.network import Linear, aligned, pad
from oclgen.inference.kernel.workers import Workers
from oclgen.inference.relational.atoms import AtomBatch, Atoms
from oclgen.inference.relational.session import Prompt, RelationalSession
from oclgen.inference.relational.weights import (
    CostWeights,
    DecoderWeights,
    EncoderWeights,
    RelationalShape,
    SchemaCounts,
)
from oclgen.relational_checkpoint import LEAST_SCALE

STATE = np.dtype([("distances", np.uintp), ("atoms", np.uintp), ("rows", np.int32)], align=True)
"""As relational.c explains it."""
BATCH_ROWS = 512
"""Rows that go through the encoder together: more would only push each other out of the processor's cache."""
LEAST_ROWS = 96
"""Rows that are worth a further thread: about a millisecond of work."""

Table = npt.NDArray[np.void]


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
    """An encoded state, with mean and scale of its cost-to-go."""

    __slots__ = ("cost", "final", "prompt")

    def __init__(self, final: FloatArray, cost: FloatArray) -> None:
        self.final = final
        self.cost = cost
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
        self.workers = Workers(threads)
        self._operators = len(schema_counts.operators)
        self._arities = schema_counts.relations
        self._uses_distances = settings.distances
        kinds = weights["kind.weight"]
        self._kinds = pad(kinds, len(kinds), self._width)
        noise = weights["noise.weight"]
        self._noise = Linear(self._kernel, pad(noise, self._width, noise.shape[1]), np.zeros(self._width, np.float32))
        self._embedded: tuple[ProblemArrays, FloatArray] | None = None
        self.max_plan = settings.max_plan
        self.longest_action = self._decoder.longest

    def encode(self, problem: ProblemArrays, states: Sequence[Atoms]) -> list[Rows]:
        """The rows of states of one problem."""
        return self.encode_batch(problem, AtomBatch.of(states))

    def encode_batch(self, problem: ProblemArrays, states: AtomBatch) -> list[Rows]:
        return self._encode_all([problem] * len(states), states)

    def encode_all(self, states: Sequence[tuple[ProblemArrays, Atoms]]) -> list[Rows]:
        """The rows of states of any problems."""
        return self._encode_all([problem for problem, _ in states], AtomBatch.of([atoms for _, atoms in states]))

    def costs(self, rows: Sequence[Rows]) -> FloatArray:
        """[states, 2]: mean and scale of each state's cost-to-go."""
        return np.array([each.cost for each in rows], np.float32).reshape(-1, 2)

    def prepare(self, prompts: Sequence[Rows]) -> None:
        """Compute what plans from these states share."""
        missing = list({id(each): each for each in prompts if each.prompt is None}.values())
        prepared = self.workers.map(lambda each: Prompt(self._kernel, self._decoder, each.final), missing)
        for each, prompt in zip(missing, prepared, strict=True):
            each.prompt = prompt

    def open(self, prompts: Sequence[Rows], rows: Sequence[int], capacity: int) -> RelationalSession:
        """`rows[i]` plans from the state `prompts[i]`; each will be fed `capacity` tokens at most."""
        self.prepare(prompts)
        ready = [each.prompt for each in prompts if each.prompt is not None]
        return RelationalSession(self._kernel, self._decoder, self.workers, self._operators, ready, rows, capacity)

    def _embed(self, problem: ProblemArrays) -> FloatArray:
        """The rows of a problem before the first layer; those of the last problem are kept."""
        last = self._embedded
        if last is None or last[0] is not problem:
            noise = np.ascontiguousarray(problem.noise, np.float32)
            last = self._embedded = problem, self._noise(noise) + self._kinds[problem.kinds]
        return last[1]

    def _encode_all(self, problems: Sequence[ProblemArrays], states: AtomBatch) -> list[Rows]:
        if not problems:
            return []
        embedded = {id(problem): self._embed(problem) for problem in problems}
        x = [embedded[id(problem)] for problem in problems]
        table = self._describe(problems, [len(each) for each in x], states)
        groups = self._groups(table["rows"].tolist())
        parts = self.workers.map(lambda part: self._encode(table[part], states.counts[part], x[part]), groups)
        return [rows for part in parts for rows in part]

    def _describe(self, problems: Sequence[ProblemArrays], lengths: Sequence[int], states: AtomBatch) -> Table:
        """The table of states for the kernel, which reads atoms unchecked."""
        assert states.counts.shape[1] == len(self._arities)
        sizes = np.diff(states.ends, prepend=0)
        if states.rows.size and (states.rows.min() < 0 or (states.rows >= np.repeat(lengths, sizes)).any()):
            raise ValueError("an atom names a row that is not there")
        table = np.zeros(len(problems), STATE)
        table["atoms"] = address(states.rows) + 4 * (states.ends - sizes)
        table["rows"] = lengths
        if self._uses_distances:
            table["distances"] = [0 if each.distances is None else address(each.distances) for each in problems]
        return table

    def _groups(self, lengths: Sequence[int]) -> list[slice]:
        """Consecutive states that are encoded together: a bounded number of rows, and as much work for each thread."""
        total = sum(lengths)
        spread = min(self.workers.threads, total // LEAST_ROWS)
        parts = min(len(lengths), max(1, spread, -(-total // BATCH_ROWS)))
        middles = np.cumsum(lengths) - np.array(lengths) / 2
        bounds = np.searchsorted(middles, total * np.arange(parts + 1) / parts).tolist()
        return [slice(first, last) for first, last in pairwise(bounds) if first < last]

    def _encode(self, table: Table, counts: IntArray, embedded: Sequence[FloatArray]) -> list[Rows]:
        x = np.concatenate(embedded)
        final = aligned(x.size).reshape(x.shape)
        places = address(table), address(counts), address(x), address(final)
        if self._kernel.encode(self._encoder.place, len(table), *places):
            raise MemoryError("no memory for the rows of a batch")
        ends = np.cumsum(table["rows"]).tolist()
        parts = [final[first:last].copy() for first, last in zip([0, *ends], ends, strict=False)]
        return list(map(Rows, parts, self._costs(final, table["rows"].tolist())))

    def _costs(self, final: FloatArray, lengths: Sequence[int]) -> FloatArray:
        """[states, 2], from the rows of all states."""
        sums = np.empty((len(lengths), 2), np.float64)
        hidden, shares = aligned(max(lengths) * self._width), aligned(max(lengths) * PANEL)
        x, result, memory = address(final), address(sums), (address(hidden), address(shares))
        for length in lengths:
            self._kernel.cost(self._width, length, x, *self._cost.places, *memory, result)
            x, result = x + 4 * length * self._width, result + 16
        sums[:, 1] = np.sqrt(sums[:, 1]) + LEAST_SCALE
        return sums.astype(np.float32)
