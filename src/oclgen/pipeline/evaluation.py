"""How well a new model solves problems it has never seen, beside its teacher."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from oclgen.data.attempts import Attempt, run_attempt
from oclgen.data.dataset import Row
from oclgen.support.parallel import run_unordered

METHODS = ("best-of-n", "oclgen")


@dataclass(frozen=True, slots=True)
class EvaluationJob:
    model: Path
    domain_text: str
    row: Row
    method: str
    seconds: float
    seed: int


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """Length of the best plan, if any; `teacher` is that of the teacher's."""

    problem: int
    method: str
    length: int | None
    teacher: int


def evaluate_one(job: EvaluationJob) -> EvaluationResult:
    row = job.row
    attempt = Attempt(job.domain_text, row.problem, job.method, job.model, seconds=job.seconds, seed=job.seed)
    result = run_attempt(attempt)
    length = None if result is None or result.plan is None else len(result.plan)
    return EvaluationResult(row.id, job.method, length, row.length)


def evaluate(
    model: Path, domain_text: str, rows: Iterable[Row], seconds: float, workers: int, seed: int
) -> Iterator[EvaluationResult]:
    """Each problem by the policy alone and by the search, `seconds` each."""
    jobs = (EvaluationJob(model, domain_text, row, method, seconds, seed) for row in rows for method in METHODS)
    return run_unordered(evaluate_one, jobs, workers)


def table(results: Sequence[EvaluationResult], seconds: float) -> str:
    """Completion, and lengths on the problems that every method solved."""
    problems = {result.problem for result in results}
    if not problems:
        return "the teacher solved none of the problems held out: nothing to compare with"
    unsolved = {result.problem for result in results if result.length is None}
    common = problems - unsolved
    lines = [f"{len(problems)} problems held out, {seconds:.0f} s each; lengths over the {len(common)} that all solved"]
    lines.append(f"{'method':<12}{'solved':>8}{'mean length':>13}")
    teacher_lengths = [result.teacher for result in results if result.method == METHODS[0] and result.problem in common]
    lines.append(line("teacher", len(problems), len(problems), teacher_lengths))
    for method in METHODS:
        own = [result for result in results if result.method == method]
        solved = sum(result.length is not None for result in own)
        lengths = [result.length for result in own if result.problem in common and result.length is not None]
        lines.append(line(method, solved, len(problems), lengths))
    return "\n".join(lines)


def line(name: str, solved: int, problems: int, lengths: Sequence[int]) -> str:
    length = f"{mean(lengths):.1f}" if lengths else "-"
    return f"{name:<12}{solved / problems:>8.0%}{length:>13}"
