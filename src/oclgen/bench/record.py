"""What a benchmark writes and a report reads: one JSON object per line, nothing else passes between the two.

Five kinds: a `Run` of a planner on a problem, a proven `Optimum`, an `Estimate` of the heuristic for an initial
state, a training `Curve`, and a `Loop` of self-improvement. Lines carry more than these types (plan, settings,
versions, machine): readers keep what they need and ignore the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, cast

from oclgen.report.statistics import length_at

Outcome = Literal["solved", "unsolved", "broken"]
"""Unsolved is a result; broken is a defect (a crash, a rejected plan, an unexpected exit code)."""

OUTCOMES = ("solved", "unsolved", "broken")

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Run:
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
    revision: str | None = None
    machine: str | None = None

    @property
    def first_seconds(self) -> float | None:
        """When the first plan was there."""
        return self.trace[0][0] if self.trace else None

    def length_at(self, seconds: float) -> int | None:
        return length_at(self.trace, seconds)


@dataclass(frozen=True, slots=True)
class Optimum:
    """A proven optimal length."""

    fingerprint: str
    length: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a heuristic model says of an initial state; the distribution as (cost, probability) pairs."""

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


@dataclass(frozen=True, slots=True)
class Curve:
    """What training reported, step by step."""

    id: str
    domain: str
    label: str
    series: Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, slots=True)
class Iteration:
    """Best-of-N after an iteration of self-improvement; lengths over the problems it solved."""

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
class Loop:
    """What self-improvement reported of its own test problems, from the model it started with on."""

    id: str
    domain: str
    label: str
    method: str
    samples: int
    iterations: tuple[Iteration, ...]


Record = Run | Optimum | Estimate | Curve | Loop
KINDS: dict[str, type[Record]] = {"run": Run, "optimum": Optimum, "estimate": Estimate, "curve": Curve, "loop": Loop}


def from_json(line: Mapping[str, Any]) -> Record:
    """The typed record of a parsed line; raises ValueError where the line is not one."""
    kind = KINDS.get(str(line.get("kind")))
    if kind is None:
        raise ValueError(f"unknown kind of record {line.get('kind')!r}")
    if kind is Loop:
        line = {**line, "iterations": [typed(Iteration, each) for each in line.get("iterations", ())]}
    record = typed(kind, line)
    if isinstance(record, Run) and record.outcome not in OUTCOMES:
        raise ValueError(f"unknown outcome {record.outcome!r}")
    if isinstance(record, Loop) and not record.iterations:
        raise ValueError("a loop without iterations")
    return record


def typed(kind: type[Kind], line: Mapping[str, Any]) -> Kind:
    values = {field.name: frozen(line[field.name]) for field in fields(cast(Any, kind)) if field.name in line}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"incomplete record: {error}") from error


def frozen(value: Any) -> Any:
    """JSON lists as tuples, at any depth."""
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value
