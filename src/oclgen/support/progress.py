"""How far long work is: one line, rewritten in place on a terminal, printed now and then elsewhere."""

import math
import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

from oclgen.support.settings import format_duration

PLAIN_SECONDS = 30.0
CLEAR = "\r\x1b[K"


class LiveLine:
    """On a terminal the line changes at most every `every` seconds; elsewhere a new one is printed every
    `plain_every` seconds, or never where that is None."""

    def __init__(
        self, stream: TextIO | None = None, every: float = 0.0, plain_every: float | None = PLAIN_SECONDS
    ) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._live = self._stream.isatty()
        self._shown = False
        self._every = every if self._live else math.inf if plain_every is None else plain_every
        self._next = time.monotonic() + (0.0 if self._live else self._every)

    @property
    def due(self) -> bool:
        """Whether `show` would show anything now."""
        return time.monotonic() >= self._next

    def show(self, text: str) -> None:
        if not self.due:
            return
        self._next = time.monotonic() + self._every
        self._shown = self._live
        self._write(f"{CLEAR}{text}" if self._live else f"{text}\n")

    def say(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        if not self._live:
            self._next = time.monotonic() + self._every
        self._write(f"{text}\n")

    def clear(self) -> None:
        """Leave an empty line to whatever is printed next."""
        if self._shown:
            self._shown = False
            self._write(CLEAR)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


@dataclass
class Progress:
    """Of `total` things, `done` were there before; the rate is that of this run."""

    total: int
    done: int
    unit: str
    _line: LiveLine = field(default_factory=lambda: LiveLine(every=0.1, plain_every=PLAIN_SECONDS))
    _started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._first = self.done

    def show(self, done: int, note: str = "") -> None:
        self.done = done
        if self._line.due:
            self._line.show(self.text(note))

    def text(self, note: str) -> str:
        rate = (self.done - self._first) / max(time.monotonic() - self._started, 1e-9)
        left = format_duration((self.total - self.done) / rate) if rate else "?"
        return ", ".join(filter(None, [f"{self.done}/{self.total}", f"{rate:.2f} {self.unit}/s", f"{left} left", note]))

    def close(self) -> None:
        self._line.clear()
