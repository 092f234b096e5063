"""Why a model learned badly, where it did: one line for each likely cause, with what to do about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import mean

from oclgen.pipeline.evaluation import SEARCH, EvaluationResult
from oclgen.support.files import read_json_lines

GOOD = 0.9
"""Share of the held-out problems that a good model solves."""
FEW_PROBLEMS = 30
PLATEAU = (0.2, 0.4, 0.6)
"""Shares of the steps: the rate is constant until 0.6 of them, so a falling loss there means unfinished learning."""
FALLING = 0.93


@dataclass(frozen=True, slots=True)
class Evidence:
    learned_from: int
    without_plan: int
    losses: Sequence[tuple[int, float]]  # steps and validation losses
    results: Sequence[EvaluationResult]
    seconds: float


def validation_losses(training: Path) -> list[tuple[int, float]]:
    lines = read_json_lines(training / "metrics.jsonl")
    return [(line["step"], line["loss"]) for line in lines if line["group"] == "validation"]


def diagnose(evidence: Evidence) -> Iterator[str]:
    """Nothing where the model is good on problems that are like all others."""
    own = [result for result in evidence.results if result.method == SEARCH]
    solved = sum(result.length is not None for result in own)
    if not own or solved >= GOOD * len(own):
        if evidence.without_plan > evidence.learned_from:
            yield (
                f"Problems that were held out are easy ones: the teacher failed on {evidence.without_plan}. Give it "
                "smaller ones, plans of your own in training_plans/, or more time"
            )
        return
    yield f"It learned badly: {len(own) - solved} of {len(own)} held-out problems are unsolved. Likely causes:"
    causes = list(likely_causes(evidence))
    yield from causes or ["- the held-out problems differ from those learned from: give more, and more varied ones"]


def likely_causes(evidence: Evidence) -> Iterator[str]:
    count, failed = evidence.learned_from, evidence.without_plan
    if count < FEW_PROBLEMS:
        yield f"- too few problems: {count} to learn from; 30 to 100 are normal"
    if failed > count / 2:
        yield (f"- the teacher failed on {failed} problems: give smaller ones, or plans of your own in training_plans/")
    if still_falling(evidence.losses):
        more = f"{ceil(2 * evidence.seconds / 60)}m"
        yield f"- the loss was still falling: give it more time, such as --time {more} with the same --out"


def still_falling(losses: Sequence[tuple[int, float]]) -> bool:
    """Whether the validation loss fell in the second third of the time that the rate was constant."""
    if not losses:
        return False
    last = losses[-1][0]
    first, middle, end = (share * last for share in PLATEAU)
    earlier = [loss for step, loss in losses if first <= step < middle]
    later = [loss for step, loss in losses if middle <= step < end]
    return not earlier or not later or mean(later) < FALLING * mean(earlier)
