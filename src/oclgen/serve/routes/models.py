"""What goes over the wire in our own interface."""

from typing import Annotated

from fastapi import HTTPException
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from oclgen.planner import METHODS
from oclgen.serve.jobs.job import FoundPlan, Job, Status
from oclgen.serve.jobs.queue import Jobs


def known_method(name: str) -> str:
    if name not in METHODS:
        raise ValueError(f"choose one of {', '.join(METHODS)}")
    return name


def writable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("not a Unicode text") from None
    return text


WITHOUT_METHOD = "Without it: the model for the domain if there is one, else LAMA or breadth-first search."
Text = Annotated[str, Field(min_length=1), AfterValidator(writable)]
Method = Annotated[str, Field(json_schema_extra={"enum": list(METHODS)}), AfterValidator(known_method)]


class Problem(BaseModel):
    """PDDL texts."""

    domain: Text
    problem: Text


class Submission(Problem):
    """A job to run."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"domain": "(define (domain d) ...)", "problem": "(define (problem p) ...)"}},
    )

    method: Method | None = Field(None, description=WITHOUT_METHOD)
    time_limit: float | None = Field(
        None, gt=0, le=86400, description="Seconds (default: the server's); the server shortens it to its own longest."
    )
    seed: int = Field(0, ge=0, lt=2**31)


class PlanView(BaseModel):
    """One improvement."""

    number: int
    seconds: float
    length: int
    actions: list[str] | None = Field(description="Only of the best plan, one `(operator argument ...)` each.")


class JobView(BaseModel):
    """A job as it stands."""

    id: str
    status: Status
    method: str | None = Field(description="The method that serves; null until it is known, where none was named.")
    chosen: bool = Field(description="Whether the planner chooses the method, because the request named none.")
    time_limit: float
    seed: int
    created: float
    started: float | None
    finished: float | None
    position: int | None = Field(description="Jobs before this one, while it waits.")
    message: str
    optimal: bool = Field(description="Whether the search proved that no plan is shorter.")
    exit_code: int | None = Field(description="Of the planner, as Fast Downward's driver counts.")
    plans: list[PlanView]


class ServerView(BaseModel):
    """What this server offers."""

    version: str
    methods: list[str]
    examples: list[str]
    time_limit: float
    longest_time_limit: float
    workers: int
    waiting: int
    running: int


class ErrorView(BaseModel):
    """Why a request was refused."""

    detail: str


def plan_view(plan: FoundPlan) -> PlanView:
    actions = [line for line in plan.text.splitlines() if line.startswith("(")] if plan.text else None
    return PlanView(number=plan.number, seconds=plan.seconds, length=plan.length, actions=actions)


def job_view(jobs: Jobs, job: Job) -> JobView:
    plans = [plan_view(plan) for plan in jobs.store.plans(job.id)]
    values = {name: getattr(job, name) for name in JobView.model_fields if hasattr(job, name)}
    return JobView(**values, position=jobs.position(job.id), plans=plans)


def busy() -> HTTPException:
    return HTTPException(429, "The queue is full; try again later.", headers={"Retry-After": "5"})
