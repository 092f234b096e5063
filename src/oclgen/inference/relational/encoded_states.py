"""A relational model and a cache of the states it has encoded.

One pass of the encoder serves the heuristic now and rollouts from the same state later. The cache keeps the states used
last, within a bound on memory.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary, ref

from oclgen.encoding.relational import ProblemGraph, RelationalTask
from oclgen.errors import UnsupportedError
from oclgen.inference.engine import FloatArray, PolicyEngine
from oclgen.inference.relational.atoms import AtomBatch, AtomColumns
from oclgen.inference.relational.engine import ProblemArrays, RelationalEngine
from oclgen.inference.relational.weights import SchemaCounts
from oclgen.interfaces import Action, Atom, State, Task
from oclgen.relational_checkpoint import RelationalCheckpoint

KEPT_BYTES = 256 << 20


class EncodableTask(Task, RelationalTask, Protocol):
    """What a relational model needs to know of a task (`oclgen.pddl.task.PddlTask` provides it)."""

    def atoms(self, state: State) -> Iterable[Atom]: ...


class EncodedState(Protocol):
    """The rows of a state, as an engine keeps them."""

    @property
    def nbytes(self) -> int: ...


class StateEngine(PolicyEngine, Protocol):
    """Both heads of a relational model: `RelationalEngine`, or torch. It reads only what it has encoded itself."""

    def encode_batch(self, problem: ProblemArrays, states: AtomBatch) -> Sequence[EncodedState]: ...

    def costs(self, rows: Sequence[Any]) -> FloatArray:
        """[states, 2]: mean and scale of each state's cost-to-go."""
        ...


class RelationalModel:
    """A checkpoint on an engine. Solves may share it: what belongs to a task is kept by task."""

    def __init__(self, checkpoint: RelationalCheckpoint, engine: StateEngine) -> None:
        self.checkpoint = checkpoint
        self.engine = engine
        self._states: WeakKeyDictionary[Task, EncodedStates] = WeakKeyDictionary()

    def states(self, task: Task) -> "EncodedStates":
        """The encoded states of a task."""
        known = self._states.get(task)
        if known is None:
            known = self._states[task] = EncodedStates(self, task)
        return known


def native_model(checkpoint: RelationalCheckpoint, threads: int = 1) -> RelationalModel:
    """A model on the compiled kernel."""
    schema, settings = checkpoint.schema, checkpoint.settings
    counts = SchemaCounts(
        tuple(schema.relation_arity(name) for name, _ in settings.relations), schema.operator_arities, schema.kind_count
    )
    return RelationalModel(checkpoint, RelationalEngine(settings, counts, checkpoint.weights, threads=threads))


class EncodedStates:
    """The states of one task."""

    def __init__(self, model: RelationalModel, task: Task) -> None:
        encodable = cast(EncodableTask, task)
        schema, settings = model.checkpoint.schema, model.checkpoint.settings
        if unknown := {*encodable.objects.values()} - {*schema.types}:
            raise UnsupportedError(f"this model of {schema.domain} knows no type {min(unknown)!r}")
        self._engine = model.engine
        self._task = ref(encodable)  # a strong reference would keep the task, and so this entry, forever
        self.graph = ProblemGraph(schema, settings.relations, encodable, settings.distances)
        self._columns = AtomColumns(self.graph)
        self._kept: OrderedDict[State, tuple[EncodedState, int]] = OrderedDict()
        self._bytes = 0
        self._handed: dict[State, None] = {}
        self._lock = Lock()

    def rows(self, states: Sequence[State]) -> list[EncodedState]:
        """The encoded rows of each state; those not known yet are encoded together."""
        task = self._task()
        assert task is not None
        with self._lock:
            self._measure_again()
            found = {state: self._kept[state][0] for state in states if state in self._kept}
            missing = [state for state in dict.fromkeys(states) if state not in found]
            atoms = self._columns.batch([task.atoms(state) for state in missing]) if missing else None
        if atoms is not None:
            found.update(zip(missing, self._engine.encode_batch(self.graph, atoms), strict=True))
        with self._lock:
            for state in states:
                self._keep(state, found[state])
            self._handed.update(dict.fromkeys(states))
        return [found[state] for state in states]

    def tokens(self, action: Action) -> list[int]:
        return self.graph.tokens(action)

    def _measure_again(self) -> None:
        """The states that were handed out: rollouts have added what they share."""
        for state in self._handed:
            if state in self._kept:
                self._keep(state, self._kept[state][0])
        self._handed.clear()

    def _keep(self, state: State, rows: EncodedState) -> None:
        """As the state used last."""
        self._bytes -= self._kept.pop(state, (rows, 0))[1]
        self._kept[state] = rows, rows.nbytes
        self._bytes += rows.nbytes
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][1]
