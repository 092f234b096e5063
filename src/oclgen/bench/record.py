"""The records that `oclgen bench` writes and `oclgen report` reads: one JSON object per line.

Six kinds: the run of a planner on a problem, a proven optimum, a published length, the heuristic's estimate for an
initial state, a training curve, and a self-improvement loop. Lines hold more than these types (plan, settings,
versions): readers keep the fields they need and ignore the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, cast

from oclgen.classical.planners import OPTIMAL

Outcome = Literal["solved", "unsolved", "broken"]
"""`unsolved` is a result; `broken` is a defect (a crash, an invalid plan, an unexpected exit code)."""

OUTCOMES = ("solved", "unsolved", "broken")

Trace = Sequence[tuple[float, int]]
"""(seconds, length) of each improvement."""

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One planner on one problem."""

    id: str
    set: str
    domain: str
    problem: str
    fingerprint: str
    label: str
    method: str
    seed: int
    time_limit: float
    outcome: Outcome
    ending: str | None = None
    exit_code: int | None = None
    length: int | None = None
    trace: tuple[tuple[float, int], ...] = ()
    counters: Mapping[str, int] | None = None
    seconds: float | None = None
    search_seconds: float | None = None
    peak_memory_kb: int | None = None
    error: str | None = None
    teacher_length: int | None = None
    objects: int | None = None
    """Of the problem; None in records that do not say."""
    revision: str | None = None
    machine: str | None = None
    node: str | None = None
    """The cluster's node that it ran on; None outside clusters."""
    settings: Mapping[str, Any] | None = None
    profile: str | None = None
    asked_settings: tuple[str, ...] | None = None
    """Of the row in the config."""
    model_digest: str | None = None
    cores: int | None = None
    """Cores that the run could use; None in records that do not say."""
    load: float | None = None
    """The machine's load average when the run ended."""
    lost_seconds: float | None = None
    """Time that the run lost to other processes on its core."""
    disturbed: bool | None = None
    """Whether that was more than 2 % of its time."""

    @property
    def sampled_plans(self) -> int | None:
        """Candidate plans that Best-of-N sampled: one batch per iteration. A plan may take several chained rollouts."""
        samples = (self.settings or {}).get("samples")
        if self.method != "best-of-n" or not self.counters or samples is None:
            return None
        return int(samples) * self.counters["iterations"]

    @property
    def first_seconds(self) -> float | None:
        """When the first plan was found."""
        return self.trace[0][0] if self.trace else None

    @property
    def proves(self) -> bool:
        return is_proof(self.method, self.outcome, self.ending)

    def length_at(self, seconds: float) -> int | None:
        return length_at(self.trace, seconds)


@dataclass(frozen=True, slots=True)
class OptimumRecord:
    """A proven optimal length."""

    fingerprint: str
    length: int


@dataclass(frozen=True, slots=True)
class BoundRecord:
    """The length of the best plan that others published; there may be shorter ones."""

    fingerprint: str
    length: int


@dataclass(frozen=True, slots=True)
class EstimateRecord:
    """A heuristic model's estimate for an initial state; the distribution as (cost, probability) pairs."""

    id: str
    set: str
    domain: str
    problem: str
    fingerprint: str
    label: str
    percentile: float
    mode: float
    estimate: float
    distribution: tuple[tuple[int, float], ...]
    teacher_length: int | None = None
    loops: int | None = None
    """Self-improvement loops that the model has gone through; None in records that do not say."""


@dataclass(frozen=True, slots=True)
class CurveRecord:
    """Losses of a training run: (step, loss) pairs per series."""

    id: str
    domain: str
    label: str
    series: Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, slots=True)
class LoopIteration:
    """Best-of-N after one iteration of self-improvement; lengths are means over the solved problems."""

    iteration: int
    problems: int
    completion: float
    """A share."""
    mean_length: float | None
    se: float | None
    common_length: float | None
    """Over the problems that every iteration solved."""
    teacher_length: float | None


@dataclass(frozen=True, slots=True)
class LoopRecord:
    """A self-improvement loop on its own test problems; iteration 0 is the model it started from."""

    id: str
    domain: str
    label: str
    method: str
    samples: int
    iterations: tuple[LoopIteration, ...]


Record = RunRecord | OptimumRecord | BoundRecord | EstimateRecord | CurveRecord | LoopRecord
KINDS: dict[str, type[Record]] = {
    "run": RunRecord,
    "optimum": OptimumRecord,
    "bound": BoundRecord,
    "estimate": EstimateRecord,
    "curve": CurveRecord,
    "loop": LoopRecord,
}


def from_json(line: Mapping[str, Any]) -> Record:
    """The record of a parsed line; raises ValueError if the line is not a record."""
    kind = KINDS.get(str(line.get("kind")))
    if kind is None:
        raise ValueError(f"unknown kind of record {line.get('kind')!r}")
    if kind is LoopRecord:
        line = {**line, "iterations": [typed(LoopIteration, each) for each in line.get("iterations", ())]}
    record = typed(kind, line)
    if isinstance(record, RunRecord) and record.outcome not in OUTCOMES:
        raise ValueError(f"unknown outcome {record.outcome!r}")
    if isinstance(record, LoopRecord) and not record.iterations:
        raise ValueError("a loop without iterations")
    return record


def is_proof(method: str | None, outcome: str | None, ending: str | None) -> bool:
    """Whether a run proves that its plan is optimal: a prover found it and ended by itself."""
    return method in OPTIMAL and outcome == "solved" and ending == "exhausted"


def length_at(trace: Trace, seconds: float) -> int | None:
    """The best length known after so many seconds."""
    known = [length for when, length in trace if when <= seconds]
    return min(known) if known else None


def typed(kind: type[Kind], line: Mapping[str, Any]) -> Kind:
    values = {field.name: frozen(line[field.name]) for field in fields(cast(Any, kind)) if field.name in line}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"incomplete record: {error}") from error


def frozen(value: Any) -> Any:
    """JSON lists become tuples, at any depth."""
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value
