"""The time of `oclgen learn`: what it plans to do with it, and how much is spent, over all runs of the same command."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oclgen.errors import InputError
from oclgen.support.files import read_json, write_json
from oclgen.support.settings import format_duration

USABLE = 0.96
"""Of the time given; the rest is for starting and ending, on a busy machine, too."""
TEACHER, TRAINING, IMPROVEMENT, EVALUATION = 0.2, 0.5, 0.2, 0.1
LEAST_LOOP = 60.0
"""Seconds; a shorter loop of self-improvement is not worth its start."""
TICK = 1.0


@dataclass(frozen=True, slots=True)
class TimePlan:
    """Seconds for each stage, none of them more than is left."""

    teacher: float
    training: float
    improvement: float
    evaluation: float

    @classmethod
    def of(cls, seconds: float, teacher: float = TEACHER) -> "TimePlan":
        """What the teacher does not need is for the others."""
        scale = seconds / (teacher + TRAINING + IMPROVEMENT + EVALUATION)
        improvement = IMPROVEMENT * scale if IMPROVEMENT * scale >= LEAST_LOOP else 0.0
        training = TRAINING * scale + (IMPROVEMENT * scale - improvement)
        return cls(teacher * scale, training, improvement, EVALUATION * scale)

    def line(self) -> str:
        stages = {
            "teacher": self.teacher,
            "training": self.training,
            "self-improvement": self.improvement,
            "evaluation": self.evaluation,
        }
        return ", ".join(f"{name} {format_duration(seconds)}" for name, seconds in stages.items() if seconds)


class Clock:
    """Seconds of work in a folder. They are written down every second, so a killed run loses one at most."""

    def __init__(self, path: Path, limit: float, begun: float = 0.0) -> None:
        self._path = path
        self._before = 0.0
        with suppress(InputError, KeyError, TypeError, ValueError):
            self._before = float(read_json(path)["seconds"])
        self._started = time.monotonic() - begun
        self.limit = limit * USABLE

    @property
    def spent(self) -> float:
        return self._before + time.monotonic() - self._started

    @property
    def left(self) -> float:
        return max(0.0, self.limit - self.spent)

    @contextmanager
    def running(self) -> Iterator["Clock"]:
        stopped = threading.Event()

        def tick() -> None:
            while not stopped.wait(TICK):
                self._save()

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stopped.set()
            thread.join()
            self._save()

    def _save(self) -> None:
        with suppress(OSError):  # a full disk is reported by what needs it more
            write_json(self._path, {"seconds": round(self.spent, 1)})
