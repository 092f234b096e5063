"""What a job is: what was asked for, how far it is, and the plans found so far."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Where a job is; the last six are final."""

    QUEUED = "queued"
    RUNNING = "running"
    SOLVED = "solved"
    UNSOLVABLE = "unsolvable"
    UNSOLVED = "unsolved"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def final(self) -> bool:
        return self not in (Status.QUEUED, Status.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run of the planner. Times are seconds since 1970."""

    id: str
    method: str | None
    """The method that serves; None until the planner that chose it has told."""
    chosen: bool = False
    """Whether the planner chooses the method, because the request named none."""
    time_limit: float
    seed: int
    created: float
    status: Status = Status.QUEUED
    started: float | None = None
    finished: float | None = None
    message: str = ""
    """Why it ended, in one sentence."""
    optimal: bool = False
    """Whether the search proved that there is no shorter plan."""
    exit_code: int | None = None
    output: str = ""
    """The planner's standard output."""


@dataclass(frozen=True, slots=True)
class FoundPlan:
    """One improvement: the text is that of a plan file."""

    number: int
    seconds: float
    length: int
    text: str
