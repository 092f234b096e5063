"""Reports of a run: a live line on a terminal (plain lines elsewhere), metrics.jsonl, TensorBoard events."""

from collections.abc import Mapping
from pathlib import Path

from oclgen.support.files import JsonLines, keep_json_lines
from oclgen.support.progress import LiveLine


class Reporter:
    """Reports of rank 0; the other processes are silent. `step` is where a resumed run continues."""

    def __init__(self, folder: Path, step: int, silent: bool) -> None:
        self.silent = silent
        if silent:
            return
        from torch.utils.tensorboard import SummaryWriter

        self._line = LiveLine()
        path = folder / "metrics.jsonl"
        keep_json_lines(path, lambda line: bool(line["step"] <= step))  # a killed run may have written later steps
        self._lines = JsonLines(path)
        self._events = SummaryWriter(str(folder / "events"), purge_step=step + 1)

    def record(self, group: str, step: int, values: Mapping[str, float]) -> None:
        """Numbers of one kind (`train`, `validation`, `generation`, `schedule`) at one step."""
        if self.silent:
            return
        self._lines.append({"group": group, "step": step, **values})
        for name, value in values.items():
            self._events.add_scalar(f"{group}/{name}", value, step)

    def status(self, text: str) -> None:
        """The live line."""
        if not self.silent:
            self._line.show(text)

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self.silent:
            self._line.say(text)

    def close(self) -> None:
        if not self.silent:
            self._line.clear()
            self._lines.close()
            self._events.close()
