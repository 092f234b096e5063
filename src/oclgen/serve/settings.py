"""What the person who starts the server decides; requests can only stay below it."""

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from oclgen.errors import InputError

TOKEN_LENGTH = 16
TOKEN_VARIABLE = "OCLGEN_TOKEN"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Limits, where to listen, whom to answer, what to keep."""

    data: Path
    """Folder for the database and the jobs' working folders."""
    host: str = "127.0.0.1"
    token: str | None = None
    origins: tuple[str, ...] = ()
    """Web pages of other origins that may call this server."""
    models: tuple[Path, ...] = ()
    """Model folders beside the shipped ones, as absolute paths; each serves the domain that it was made for."""
    workers: int = 2
    """Jobs that run at once."""
    queue: int = 32
    """Jobs that may wait; beyond it the answer is 429."""
    time_limit: float = 10.0
    """Seconds of a job that asks for none."""
    longest_time_limit: float = 300.0
    memory_limit: int = 2 << 30
    body_bytes: int = 16 << 20
    """Largest request."""
    keep_seconds: float = 7 * 86400.0
    keep_jobs: int = 1000
    keep_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < TOKEN_LENGTH:
            raise InputError(f"the token needs at least {TOKEN_LENGTH} characters")
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} is reachable from other machines: set a token with --token or {TOKEN_VARIABLE}"
            )
        if self.workers < 1 or self.queue < 0:
            raise InputError("a server needs at least one worker and no negative queue")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def default_data_folder() -> Path:
    """Where programs keep state that outlives a run, by the XDG convention."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "oclgen" / "serve"
