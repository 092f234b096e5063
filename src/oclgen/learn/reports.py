"""What a run tells: a line that lives on a terminal (plain lines elsewhere), metrics.jsonl, TensorBoard events."""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from oclgen.data.dataset import write_text

PLAIN_LINE_SECONDS = 30.0


class Reporter:
    """Reports of rank 0; the other processes are silent. `step` is where a resumed run goes on from."""

    def __init__(self, folder: Path, step: int, silent: bool) -> None:
        self.silent = silent
        self.live = sys.stdout.isatty()
        self._last_line = -PLAIN_LINE_SECONDS
        if silent:
            return
        from torch.utils.tensorboard import SummaryWriter

        self._path = folder / "metrics.jsonl"
        keep_until(self._path, step)
        self._file = self._path.open("a", encoding="utf-8")
        self._events = SummaryWriter(str(folder / "events"), purge_step=step + 1)

    def record(self, group: str, step: int, values: Mapping[str, float]) -> None:
        """Numbers of one kind (`train`, `validation`, `generation`, `schedule`) at one step."""
        if self.silent:
            return
        self._file.write(json.dumps({"group": group, "step": step, **values}) + "\n")
        self._file.flush()
        for name, value in values.items():
            self._events.add_scalar(f"{group}/{name}", value, step)

    def status(self, text: str) -> None:
        """The live line; where nobody watches, a plain one now and then."""
        if self.silent:
            return
        if self.live:
            print(f"\r\x1b[K{text}", end="", flush=True)
        elif time.monotonic() - self._last_line >= PLAIN_LINE_SECONDS:
            self.say(text)

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self.silent:
            self._last_line = time.monotonic()
            print(f"\r\x1b[K{text}" if self.live else text, flush=True)

    def close(self) -> None:
        if not self.silent:
            self._file.close()
            self._events.close()


def keep_until(path: Path, step: int) -> None:
    """Drop what a killed run wrote after the state that it is resumed from."""
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step]
        write_text(path, "".join(f"{line}\n" for line in kept))


def duration(seconds: float) -> str:
    """`42s`, `3m 5s`, `2h 7m`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    return f"{whole // 3600}h {whole % 3600 // 60}m"
