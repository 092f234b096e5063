"""The application: routes, guard, page, and the jobs behind them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles

from oclgen import __version__
from oclgen.serve.guard import Guard
from oclgen.serve.jobs.pictures import Pictures
from oclgen.serve.jobs.queue import Jobs
from oclgen.serve.routes import api, service
from oclgen.serve.settings import ServeSettings

STATIC = Path(__file__).parent / "static"


def make_app(settings: ServeSettings) -> FastAPI:
    """Opens the data folder at once, so that a folder in use is told before anybody listens."""
    jobs = Jobs(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.jobs = jobs
        app.state.pictures = pictures = Pictures(jobs)
        app.state.streams = 0
        try:
            yield
        finally:
            await pictures.close()
            await jobs.close()

    app = FastAPI(
        title="oclgen",
        version=__version__,
        description="Plans that get shorter while you watch.",
        lifespan=lifespan,
        docs_url=None,  # its page would come from the internet
        redoc_url=None,
    )
    app.include_router(api.router)
    app.include_router(service.router)
    app.add_exception_handler(RequestValidationError, refuse)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(STATIC / "index.html")

    app.add_middleware(Guard, settings=settings)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
        )
    return app


async def refuse(request: Request, error: Exception) -> JSONResponse:
    """One sentence about the first thing wrong; the request itself is not repeated."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or "body"
    status = 400 if first["type"] == "json_invalid" else 422
    return JSONResponse({"detail": f"{place}: {first['msg']}"}, status)
