"""The policy alone on the test problems: Best-of-N after each iteration.

Paper: tab:improvement_loop (N = 10: completion, and mean length with its standard error).
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oclgen.data.attempts import Attempt, run_attempt
from oclgen.data.dataset import Row
from oclgen.improve.settings import BestOfN


@dataclass(frozen=True, slots=True)
class Trial:
    row: Row
    domain_text: str
    model: Path
    best_of_n: BestOfN
    seed: int


@dataclass(frozen=True, slots=True)
class Tried:
    """A line of evaluation.jsonl; `length` is None where no sample was a plan, `teacher` is the teacher's length."""

    problem: int
    name: str
    length: int | None
    teacher: int
    seconds: float

    @property
    def solved(self) -> bool:
        return self.length is not None


def try_policy(trial: Trial) -> Tried:
    """One batch of samples. A problem that the model's vocabulary cannot express counts as unsolved."""
    row, asked = trial.row, trial.best_of_n
    links = {} if asked.links is None else {"links": asked.links}
    alone = {"eliminate": False, "shortcut": False}  # the plans are to be the policy's own
    settings = {"samples": asked.samples, **links, **alone, **asked.settings}
    attempt = Attempt(trial.domain_text, row.problem, "best-of-n", trial.model, asked.profile, settings)
    result = run_attempt(replace(attempt, iterations=1, seed=trial.seed))
    length = None if result is None or result.plan is None else len(result.plan)
    return Tried(row.id, row.name, length, row.length, 0.0 if result is None else round(result.seconds, 3))


def summary(tried: Sequence[Tried]) -> dict[str, Any]:
    """Completion as a share; lengths over the solved problems."""
    solved = [each for each in tried if each.solved]
    lengths = [float(each.length) for each in solved if each.length is not None]
    return {
        "problems": len(tried),
        "solved": len(solved),
        "completion": len(solved) / len(tried),
        "mean_length": mean(lengths),
        "se": standard_error(lengths),
        "teacher_length": mean([float(each.teacher) for each in solved]),
    }


def mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def standard_error(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def common_lengths(iterations: Sequence[Sequence[Tried]]) -> list[float | None]:
    """Mean length in each iteration over the problems that all of them solved: free of the bias of completion."""
    solved = [{each.problem: each.length for each in tried if each.length is not None} for tried in iterations]
    common = set.intersection(*map(set, solved)) if solved else set()
    return [mean([float(lengths[problem]) for problem in sorted(common)]) for lengths in solved]
