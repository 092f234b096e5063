"""Planning as a service, as editors and planutils speak it.

Asynchronous: `/package/oclgen/solve`, then `/check/ID`, with the planning editor's adaptor. Synchronous: the same below
`/sync`, as `planutils server` answers, and `/solve`, as VS Code's SERVICE_SYNC expects. Clients of these give up after
22 seconds, so a synchronous answer comes within 15. Refusals have status 200 and a key `Error`, as there; a body that
is not a JSON object has status 400, which also tells VS Code's probe that somebody is listening. Unknown keys are
ignored: VS Code sends its whole configuration along.
"""

import asyncio
import json
import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import JSONResponse

from oclgen.planner import METHODS
from oclgen.serve.jobs.job import Job
from oclgen.serve.jobs.queue import PLAN_FILE, Busy, Jobs, rung
from oclgen.serve.routes import adaptor
from oclgen.serve.routes.api import AllJobs, refusals
from oclgen.serve.routes.models import WITHOUT_METHOD, busy, writable

SYNC_SECONDS = 10.0
"""Longest time limit of a synchronous answer."""
SYNC_QUEUE_SECONDS = 3.0
"""How long a synchronous request waits for its job to begin."""
HANG_UP_SECONDS = 0.5
"""How often we look whether the client is still there."""
PACKAGE = "oclgen"
MANIFEST: dict[str, Any] = {
    "name": "oclgen: a learned anytime planner",
    "package_name": PACKAGE,
    "description": "Finds a plan and keeps shortening it until the time is up.",
    "install-size": "20M",
    "dependencies": [],
    "runnable": True,
    "endpoint": {
        "services": {
            "solve": {
                "args": [
                    {"name": "domain", "type": "file", "description": "domain file"},
                    {"name": "problem", "type": "file", "description": "problem file"},
                ],
                "call": "oclgen {domain} {problem}",
                "return": {"type": "generic", "files": PLAN_FILE},
            }
        }
    },
}
OBJECT = {
    "type": "object",
    "properties": {
        "domain": {"type": "string", "minLength": 1},
        "problem": {"type": "string", "minLength": 1},
        "time_limit": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds."},
        "method": {"type": ["string", "null"], "enum": [*METHODS, None], "description": WITHOUT_METHOD},
    },
}
BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": OBJECT}}}}
CHECK = {"type": "object", "properties": {"adaptor": {"type": "string", "enum": [adaptor.NAME]}}}
CHECK_BODY = {"requestBody": {"content": {"application/json": {"schema": CHECK}}}}

router = APIRouter(tags=["planning as a service"])


async def json_object(request: Request) -> dict[str, Any]:
    """The body, which clients do not always call JSON."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "The body must be a JSON object.") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "The body must be a JSON object.")
    return body


Body = Annotated[dict[str, Any], Depends(json_object)]


def refusal(reason: str) -> JSONResponse:
    return JSONResponse({"Error": reason})


def submitted(jobs: Jobs, body: dict[str, Any], longest: float = float("inf")) -> Job | JSONResponse:
    """A job made of a request's body, or what is missing in it."""
    for name in ("domain", "problem"):
        if name not in body:
            return refusal(f"Required argument, {name} was not provided")
        if not isinstance(body[name], str) or not body[name]:
            raise HTTPException(400, f"{name} must be a PDDL text.")
        try:
            writable(body[name])
        except ValueError as error:
            raise HTTPException(400, f"{name}: {error}") from None
    seconds, method = body.get("time_limit", jobs.settings.time_limit), body.get("method")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise HTTPException(400, "time_limit must be a number of seconds.")
    if method is not None and method not in METHODS:
        raise HTTPException(400, f"method must be one of {', '.join(METHODS)}.")
    try:
        return jobs.submit(body["domain"], body["problem"], method, min(seconds, longest))
    except Busy:
        raise busy() from None


@router.get("/package")
async def packages() -> dict[str, Any]:
    """What can be run here."""
    return {PACKAGE: MANIFEST}


@router.get("/package/{package}")
@router.get("/package/{package}/{service}")
async def manifest(package: str) -> dict[str, Any]:
    return MANIFEST if package == PACKAGE else {"Error": "That package does not exist"}


@router.post("/package/{package}/{service}", openapi_extra=BODY, responses=refusals(400, 413, 429))
async def solve_later(package: str, service: str, body: Body, jobs: AllJobs) -> Any:
    """Queue a job; the answer says where to ask for its result."""
    missing = unknown(package, service)
    if missing is not None:
        return missing
    job = submitted(jobs, body)
    return {"result": f"/check/{job.id}?external=True"} if isinstance(job, Job) else job


@router.post("/sync/package/{package}/{service}", openapi_extra=BODY, responses=refusals(400, 413, 429))
async def solve_now(package: str, service: str, body: Body, jobs: AllJobs, request: Request) -> Any:
    """Solve while the client waits, as `planutils server` does."""
    missing = unknown(package, service)
    if missing is not None:
        return missing
    job = await ended(jobs, body, request)
    if not isinstance(job, Job):
        return job
    result = service_result(jobs, job)
    return {"stdout": result["stdout"], "stderr": result["stderr"], **result["output"]}


@router.post("/solve", openapi_extra=BODY, responses=refusals(400, 413, 429))
async def solve(body: Body, jobs: AllJobs, request: Request) -> Any:
    """Solve while the client waits, as VS Code's SERVICE_SYNC expects."""
    job = await ended(jobs, body, request)
    if not isinstance(job, Job):
        return JSONResponse({"detail": json.loads(bytes(job.body))["Error"]}, 400)
    best, result = jobs.store.best(job.id), service_result(jobs, job)
    if best is None:
        return {"status": "error", "result": {"error": result["stderr"], "output": result["stdout"]}}
    plan = [{"name": line} for line in best.text.splitlines() if line.startswith("(")]
    return {"status": "ok", "result": {"plan": plan, "output": result["stdout"], "cost": best.length}}


@router.get("/check/{job_id}")
async def check(job_id: str, jobs: AllJobs) -> Any:
    """The result of a job, once it has ended."""
    job = jobs.store.job(job_id)
    if job is None:
        return refusal("There is no such job.")
    return {"result": service_result(jobs, job), "status": "ok"} if job.status.final else {"status": "PENDING"}


@router.post("/check/{job_id}", openapi_extra=CHECK_BODY, responses=refusals(400, 413))
async def check_adapted(job_id: str, request: Request, jobs: AllJobs) -> Any:
    """The same, in the shape that an adaptor makes of it."""
    body = await json_object(request) if await request.body() else {}
    job = jobs.store.job(job_id)
    if "adaptor" in body and body["adaptor"] != adaptor.NAME:
        raise HTTPException(400, "Adaptor Not Found")
    if job is None or not job.status.final or "adaptor" not in body:
        return await check(job_id, jobs)
    domain, _ = jobs.store.texts(job.id)
    return await asyncio.to_thread(adaptor.adapted, domain, service_result(jobs, job))


def unknown(package: str, service: str) -> JSONResponse | None:
    if package != PACKAGE:
        return refusal("That package does not exist")
    return None if service == "solve" else refusal(f"That package does not contain service {service}")


def service_result(jobs: Jobs, job: Job) -> dict[str, Any]:
    """As planutils' packages answer; where there is no plan, standard error says why."""
    best = jobs.store.best(job.id)
    return {
        "stdout": job.output,
        "stderr": "" if best is not None else job.message,
        "call": "oclgen solve domain problem",
        "output": {} if best is None else {PLAN_FILE: best.text},
        "output_type": "generic",
    }


async def ended(jobs: Jobs, body: dict[str, Any], request: Request) -> Job | JSONResponse:
    """Run a job to its end; cancel it when its client hangs up or when it waits for too long."""
    job = submitted(jobs, body, SYNC_SECONDS)
    if not isinstance(job, Job):
        return job
    patience = time.monotonic() + SYNC_QUEUE_SECONDS
    while True:
        bell, now = jobs.bell(job.id), jobs.store.job(job.id)
        if now is None or now.status.final:
            return now or job
        if jobs.position(job.id) is not None and time.monotonic() > patience:
            jobs.cancel(job.id)
            raise busy()
        if await request.is_disconnected():
            jobs.cancel(job.id)
        await rung(bell, HANG_UP_SECONDS)
