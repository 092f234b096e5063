"""How far long work is, with rate and time left: a bar on a terminal, a plain line now and then elsewhere."""

import sys
import time
from dataclasses import dataclass, field

from tqdm import tqdm

LINE_SECONDS = 30.0


@dataclass
class Progress:
    """Of `total` things, `done` were there before; the rate is that of this run."""

    total: int
    done: int
    unit: str
    _started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._first = self.done
        self._next_line = self._started + LINE_SECONDS
        on_terminal = sys.stdout.isatty()
        bar = tqdm(total=self.total, initial=self.done, unit=self.unit, file=sys.stdout) if on_terminal else None
        self._bar = bar

    def show(self, done: int, note: str = "") -> None:
        advance, self.done = done - self.done, done
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(advance)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_SECONDS
            print(self.line(note), flush=True)

    def line(self, note: str) -> str:
        rate = (self.done - self._first) / max(time.monotonic() - self._started, 1e-9)
        left = duration((self.total - self.done) / rate) if rate else "?"
        return ", ".join(filter(None, [f"{self.done}/{self.total}", f"{rate:.2f} {self.unit}/s", f"{left} left", note]))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def duration(seconds: float) -> str:
    """`42s`, `7m 05s` or `3h 20m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"
