"""What a request must pass before any route sees it: whom it is from, and how large it is.

Without a token the server trusts who can reach it on this machine, but not web pages that a browser here has open:
requests of another origin are refused, and so are names that only pretend to be this machine (DNS rebinding).
With a token, it must come as `Authorization: Bearer TOKEN`, or as the password of basic authentication. The page, its
files and `/check/ID` need none: editors ask there without it, and an id cannot be guessed.
"""

import asyncio
import base64
import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oclgen.serve.settings import LOOPBACK_NAMES, ServeSettings

BODY_SECONDS = 30.0
BODIES_AT_ONCE = 4
"""Bodies of the largest size that may be in memory together."""
PUBLIC = ("/", "/favicon.ico", "/openapi.json")
PUBLIC_FOLDERS = ("/static/", "/check/")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Refused(Exception):
    """An answer instead of the route's."""

    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.response: Response = JSONResponse({"detail": reason}, status, headers)


class Guard:
    """Middleware around the whole application."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app = app
        self.settings = settings
        self.bytes_in_memory = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["path"] = "/" + scope["path"].lstrip("/")  # planutils joins paths with two slashes
        send = with_headers(send, scope["path"])
        held = 0
        try:
            self._check_sender(scope, Headers(scope=scope))
            body = await self._body(scope, receive)
            held = len(body)
            self.bytes_in_memory += held
            await self.app(scope, replayed(body, receive), send)
        except Refused as refused:
            await refused.response(scope, receive, send)
        finally:
            self.bytes_in_memory -= held

    def _check_sender(self, scope: Scope, headers: Headers) -> None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.settings.token is None and host_name(host) not in (*LOOPBACK_NAMES, self.settings.host):
            raise Refused(403, "This server answers only to its own name.")
        if origin is not None and origin not in self.settings.origins and urlsplit(origin).netloc != host:
            raise Refused(403, "Pages of this origin may not call this server; see --allow-origin.")
        public = scope["path"] in PUBLIC or scope["path"].startswith(PUBLIC_FOLDERS) or scope["method"] == "OPTIONS"
        if self.settings.token is not None and not public and not self._has_token(headers.get("authorization", "")):
            raise Refused(401, "This server wants its token.", {"WWW-Authenticate": "Bearer"})

    def _has_token(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except ValueError:
                return False
        return hmac.compare_digest(given.encode(errors="replace"), (self.settings.token or "").encode())

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, or a refusal of one that is too large, too slow, or one too many."""
        limit = self.settings.body_bytes
        declared = Headers(scope=scope).get("content-length", "0")
        size = int(declared) if declared.isdecimal() else 0
        if size > 2 * limit:
            raise Refused(413, f"A request may have {limit} bytes.", {"Connection": "close"})
        if self.bytes_in_memory + size > BODIES_AT_ONCE * limit:
            raise Refused(429, "Too many large requests at once.", {"Retry-After": "5"})
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await read_body(receive, limit)
        except TimeoutError:
            raise Refused(408, "The request took too long to arrive.", {"Connection": "close"}) from None


async def read_body(receive: Receive, limit: int) -> bytes:
    """Up to twice the limit is swallowed, so that a client who sent a little too much can read the answer."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "The client hung up.")
        piece = message.get("body", b"")
        size += len(piece)
        if size <= limit:
            pieces.append(piece)
        else:
            pieces.clear()
        if size > 2 * limit or (size > limit and not message.get("more_body", False)):
            raise Refused(413, f"A request may have {limit} bytes.", {"Connection": "close"})
        if not message.get("more_body", False):
            return b"".join(pieces)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Hand out the body that has been read, then whatever else happens (the client hangs up)."""
    bodies: Iterable[bytes] = iter([body])

    async def next_message() -> Message:
        for each in bodies:
            return {"type": "http.request", "body": each, "more_body": False}
        return await receive()

    return next_message


def with_headers(send: Send, path: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-cache" if path.startswith("/static/") else "no-store")
        await send(message)

    return send_with_headers


def host_name(host: str) -> str:
    """Without the port; `[::1]:5001` is `::1`."""
    return urlsplit(f"//{host}").hostname or "" if host.count("[") == host.count("]") else ""
