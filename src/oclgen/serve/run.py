"""Listening: a socket of our own, so that the port is known before the first request, then uvicorn."""

import logging
import socket

import uvicorn

from oclgen.errors import InputError
from oclgen.serve.app import make_app
from oclgen.serve.settings import ServeSettings

CONNECTIONS = 1000
BACKLOG = 512
SHUTDOWN_SECONDS = 3
KEEP_ALIVE_SECONDS = 30
"""Longer than clients keep idle connections (5 s is common): else one is closed just as a request comes over it."""


def listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)  # who comes while the server starts waits instead of being refused
    except OSError as error:
        raise InputError(f"cannot listen on {host} port {port}: {error.strerror}") from None
    return listening


def serve(settings: ServeSettings, port: int) -> None:
    """Until Ctrl-C or SIGTERM."""
    app, listening = make_app(settings), listen(settings.host, port)
    host, bound = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app,
        loop="asyncio",
        log_level=logging.WARNING,
        access_log=False,
        limit_concurrency=CONNECTIONS,
        backlog=BACKLOG,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        server_header=False,
    )
    print(f"oclgen serves on http://{shown}:{bound}/ (Ctrl-C ends it)", flush=True)
    uvicorn.Server(config).run(sockets=[listening])
