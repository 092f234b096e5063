"""Which search settings suit a model: a handful are tried on problems that it has not learned from.

First how actions are decoded, then how the heuristic's answer is read. A setting must be clearly better than the
default to take its place, because a few problems decide. When states are expanded is not tried: what suits problems of
the training size may cost larger ones their first plan.

WORK/tuning.json    seconds for each problem
WORK/tuning-N.jsonl the N-th setting on these problems
WORK/settings.json  what was chosen
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oclgen.data.dataset import Row
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.evaluation import SEARCH, EvaluationJob, Score, evaluate
from oclgen.pipeline.gathering import Plans
from oclgen.pipeline.installing import SearchChoice
from oclgen.pipeline.source import Say
from oclgen.support.files import read_json, write_json
from oclgen.support.parallel import Workers, worker_count
from oclgen.support.settings import format_duration

DECODING: tuple[Mapping[str, Any], ...] = ({"decoding": "applicable"},)
SUMMARY: tuple[Mapping[str, Any], ...] = ({"percentile": 20}, {"percentile": 3})
TRIED = 1 + len(DECODING) + len(SUMMARY)
MOST_PROBLEMS = 10
LEAST_SECONDS, MOST_SECONDS = 1.0, 20.0
"""For each problem."""
CLEARLY = 0.99
"""Plans of another setting must be shorter than this share."""


@dataclass(frozen=True)
class Tuner:
    """What every trial shares."""

    work: Path
    plans: Plans
    workers: Workers
    seed: int
    say: Say

    @property
    def chosen(self) -> SearchChoice | None:
        """What was found; None before."""
        path = self.work / "settings.json"
        return SearchChoice(**read_json(path)) if path.exists() else None

    def problems(self) -> list[Row]:
        """Of those that choose among models the longest, and those that have no plan before them."""
        return sorted(self.plans.choosing(), key=lambda row: (-row.length, row.id))[:MOST_PROBLEMS]

    def choose(self, model: Path, clock: Clock, seconds: float) -> SearchChoice:
        """Try the settings, or the rest of them; they are the same after an interruption."""
        rows = self.problems()
        each = self.seconds_each(seconds, len(rows))
        end = clock.spent + 2 * seconds  # a machine much slower than planned tries fewer
        self.say(f"search settings: {TRIED} on {len(rows)} problems, up to {format_duration(each)} each")
        best, number = SearchChoice(), 0
        score = self.score(model, best, number, rows, each)
        for group in (DECODING, SUMMARY):
            for change in group:
                number += 1
                if clock.spent > end:
                    break
                tried = replace(best, **change)
                found = self.score(model, tried, number, rows, each)
                if found.better_than(score, CLEARLY):
                    best, score = tried, found
        write_json(self.work / "settings.json", asdict(best))
        self.say(f"search settings: {best.text()}: {score.text(len(rows))}")
        return best

    def seconds_each(self, seconds: float, problems: int) -> float:
        path = self.work / "tuning.json"
        if not path.exists():
            each = seconds * worker_count(self.workers) / (TRIED * problems)
            write_json(path, {"seconds": round(min(MOST_SECONDS, max(LEAST_SECONDS, each)), 2)})
        return float(read_json(path)["seconds"])

    def score(self, model: Path, choice: SearchChoice, number: int, rows: list[Row], seconds: float) -> Score:
        text, settings = self.plans.data.domain_text, asdict(choice)
        jobs = [EvaluationJob(model, text, row, SEARCH, seconds, self.seed, settings) for row in rows]
        return Score.of(evaluate(self.work / f"tuning-{number}.jsonl", jobs, self.workers, lambda: False))
