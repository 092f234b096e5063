"""Our own interface: submit a job, watch its plans improve, cancel it, fetch what it found."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from oclgen import __version__
from oclgen.planner import METHODS
from oclgen.serve import examples
from oclgen.serve.jobs.job import FoundPlan, Job
from oclgen.serve.jobs.pictures import Pictures
from oclgen.serve.jobs.queue import Busy, Jobs, rung
from oclgen.serve.routes.models import ErrorView, JobView, Problem, ServerView, Submission, busy, job_view, plan_view

HEARTBEAT_SECONDS = 10.0
STREAMS = 256
"""Event streams open at once."""
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events."}
}
PLAN: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The best plan's file."}
}

router = APIRouter(prefix="/api", tags=["oclgen"])


def refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Described as JSON whatever the route's own media type is."""
    content = {"application/json": {"schema": ErrorView.model_json_schema()}}
    return {code: {"description": "Refused.", "content": content} for code in codes}


async def the_jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


async def the_job(job_id: str, jobs: "AllJobs") -> Job:
    job = jobs.store.job(job_id)
    if job is None:
        raise HTTPException(404, "No such job: it never was, or it was forgotten.")
    return job


async def the_best(job: "OneJob", jobs: "AllJobs") -> FoundPlan:
    best = jobs.store.best(job.id)
    if best is None:
        raise HTTPException(404, "This job has no plan.")
    return best


AllJobs = Annotated[Jobs, Depends(the_jobs)]
OneJob = Annotated[Job, Depends(the_job)]
BestPlan = Annotated[FoundPlan, Depends(the_best)]


@router.get("/server")
async def server(jobs: AllJobs) -> ServerView:
    """What this server offers and how busy it is."""
    settings = jobs.settings
    return ServerView(
        version=__version__,
        methods=list(METHODS),
        examples=examples.names(),
        time_limit=settings.time_limit,
        longest_time_limit=settings.longest_time_limit,
        workers=settings.workers,
        waiting=len(jobs.waiting),
        running=len(jobs.tasks),
    )


@router.get("/examples/{name}", responses=refusals(404, 422))
async def example(name: str, number: examples.Number = 0) -> Problem:
    """A problem of a shipped domain; every number is another one."""
    if name not in examples.names():
        raise HTTPException(404, f"No such example; there are {', '.join(examples.names())}.")
    domain, problem = await examples.example(name, number)
    return Problem(domain=domain, problem=problem)


@router.post("/jobs", status_code=201, responses=refusals(400, 413, 422, 429))
async def submit(submission: Submission, jobs: AllJobs, response: Response) -> JobView:
    """Queue a job."""
    try:
        job = jobs.submit(**submission.model_dump())
    except Busy:
        raise busy() from None
    response.headers["Location"] = f"/api/jobs/{job.id}"
    return job_view(jobs, job)


@router.get("/jobs/{job_id}", responses=refusals(404))
async def fetch(job: OneJob, jobs: AllJobs) -> JobView:
    """A job with all improvements and the best plan."""
    return job_view(jobs, job)


@router.delete("/jobs/{job_id}", status_code=202, responses=refusals(404))
async def cancel(job: OneJob, jobs: AllJobs) -> JobView:
    """End a job; the plans it has found stay. Cancelling a job that has ended changes nothing."""
    jobs.cancel(job.id)
    return job_view(jobs, jobs.store.job(job.id) or job)


@router.get("/jobs/{job_id}/problem", responses=refusals(404))
async def problem(job: OneJob, jobs: AllJobs) -> Problem:
    """The domain and the problem that were submitted."""
    domain, text = jobs.store.texts(job.id)
    return Problem(domain=domain, problem=text)


@router.get("/jobs/{job_id}/plan", response_class=PlainTextResponse, responses={**PLAN, **refusals(404)})
async def plan(best: BestPlan) -> PlainTextResponse:
    """The best plan as a plan file."""
    return PlainTextResponse(best.text, headers={"Content-Disposition": 'attachment; filename="sas_plan"'})


@router.get("/jobs/{job_id}/picture", responses=refusals(404, 409, 429))
async def picture(job: OneJob, best: BestPlan, jobs: AllJobs, request: Request) -> dict[str, Any]:
    """The best plan of an ended job as a sequence of scenes, for domains that have pictures."""
    if not job.status.final:
        raise HTTPException(409, "This job has not ended yet.")
    pictures: Pictures = request.app.state.pictures
    try:
        drawn = await pictures.drawn(job.id, best.text)
    except Busy:
        raise busy() from None
    if "refusal" in drawn:
        raise HTTPException(404, drawn["refusal"])
    return drawn


@router.get("/jobs/{job_id}/events", response_class=StreamingResponse, responses={**EVENTS, **refusals(404, 429)})
async def events(
    job: OneJob, jobs: AllJobs, request: Request, last_event_id: Annotated[str | None, Header()] = None
) -> StreamingResponse:
    """Improving plans as server-sent events: `plan` (with its number as id), `job` at each change, `end` at last.

    A client that comes back with Last-Event-ID gets the plans after that one.
    """
    if request.app.state.streams >= STREAMS:
        raise busy()
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 9 else 0
    return StreamingResponse(
        counted(request.app.state, stream(jobs, job.id, seen)),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def counted(state: Any, events: AsyncIterator[str]) -> AsyncIterator[str]:
    state.streams += 1
    try:
        async for event in events:
            yield event
    finally:
        state.streams -= 1


async def stream(jobs: Jobs, identifier: str, seen: int) -> AsyncIterator[str]:
    told: JobView | None = None
    while not jobs.closing:
        bell, job = jobs.bell(identifier), jobs.store.job(identifier)
        if job is None:
            return
        for found in jobs.store.plans(identifier, after=seen):
            seen = found.number
            yield event("plan", plan_view(found).model_dump_json(), seen)
        view = job_view(jobs, job).model_copy(update={"plans": []})
        if job.status.final:
            yield event("end", view.model_dump_json())
            return
        yield event("job", view.model_dump_json()) if view != told else ": still here\n\n"
        told = view
        await rung(bell, HEARTBEAT_SECONDS)


def event(name: str, data: str, number: int | None = None) -> str:
    identifier = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{identifier}data: {data}\n\n"
