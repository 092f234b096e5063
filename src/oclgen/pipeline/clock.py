"""The time of `oclgen learn`: what it plans to do with it, and how much is spent, over all runs of the same command."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from oclgen.errors import InputError
from oclgen.support.files import read_json, write_json
from oclgen.support.settings import format_duration

USABLE = 0.96
"""Of the time given; the rest is for starting and ending, on a busy machine, too."""
LEAST_LOOP = 60.0
"""Seconds; a shorter loop of self-improvement is not worth its start."""
LEAST_TUNING = 20.0
"""Seconds; with less, search settings would be chosen by chance."""
TICK = 1.0


@dataclass(frozen=True, slots=True)
class TimePlan:
    """Seconds for each stage; as shares they add up to one."""

    teacher: float = 0.15
    off_plan: float = 0.12
    training: float = 0.4
    tuning: float = 0.06
    improvement: float = 0.2
    evaluation: float = 0.07

    @classmethod
    def of(cls, seconds: float, *done: str) -> "TimePlan":
        """What the stages that are `done`, or are too short to be of use, do not need is for the others."""
        shares = cls()
        left = {name: share for name, share in asdict(shares).items() if name not in done}
        scale = seconds / sum(left.values())
        plan = replace(shares, **dict.fromkeys(done, 0.0))._scaled(scale)
        kept = replace(
            plan,
            tuning=plan.tuning if plan.tuning >= LEAST_TUNING else 0.0,
            improvement=plan.improvement if plan.improvement >= LEAST_LOOP else 0.0,
        )
        return replace(kept, training=kept.training + plan.total - kept.total)

    def _scaled(self, scale: float) -> "TimePlan":
        return TimePlan(**{name: share * scale for name, share in asdict(self).items()})

    @property
    def total(self) -> float:
        return math.fsum(asdict(self).values())

    def line(self) -> str:
        stages = {
            "teacher": self.teacher,
            "off-plan states": self.off_plan,
            "training": self.training,
            "search settings": self.tuning,
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
