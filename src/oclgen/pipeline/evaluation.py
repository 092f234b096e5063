"""How well a model solves problems that it has not learned from, beside its teacher."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from oclgen.data.attempts import Attempt, run_attempt
from oclgen.data.dataset import Row
from oclgen.pddl.plan_file import format_plan
from oclgen.support.files import JsonLines, read_json_lines
from oclgen.support.parallel import Workers, at_most, progress_note, run_unordered
from oclgen.support.progress import Progress

POLICY, SEARCH = METHODS = ("best-of-n", "oclgen")
MEMORY_LIMIT = 4 << 30
CLEARLY_LONGER = 1.05
"""First plans vary by chance."""


@dataclass(frozen=True, slots=True)
class EvaluationJob:
    model: Path
    domain_text: str
    row: Row
    method: str
    seconds: float
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Search settings other than the model's own."""


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The best plan, its length and that of the first plan, if any; `teacher` is the length of the teacher's."""

    problem: int
    method: str
    length: int | None
    teacher: int
    first: int | None = None
    plan: str = ""

    def summary(self) -> dict[str, Any]:
        """All but the plan."""
        return {name: value for name, value in asdict(self).items() if name != "plan"}


def evaluate_one(job: EvaluationJob) -> EvaluationResult:
    row = job.row
    attempt = Attempt(
        job.domain_text,
        row.problem,
        job.method,
        job.model,
        settings=job.settings,
        seconds=job.seconds,
        memory_bytes=MEMORY_LIMIT,
        seed=job.seed,
    )
    result = run_attempt(attempt)
    if result is None or result.plan is None:
        return EvaluationResult(row.id, job.method, None, row.length)
    first, plan = result.trace[0][1], format_plan(result.plan)
    return EvaluationResult(row.id, job.method, len(result.plan), row.length, first, plan)


def evaluate(
    path: Path, jobs: Sequence[EvaluationJob], workers: Workers, time_is_up: Callable[[], bool]
) -> list[EvaluationResult]:
    """Do the jobs that have no line in the file yet, as long as there is time but one problem at least; all results."""
    done = [EvaluationResult(**line) for line in read_json_lines(path)]
    known = {(result.problem, result.method) for result in done}
    left = [job for job in jobs if (job.row.id, job.method) not in known]

    def in_time() -> Iterator[EvaluationJob]:
        for number, job in enumerate(left, len(done)):
            if number >= len(METHODS) and time_is_up():
                return
            yield job

    progress = Progress(len(jobs), len(done), "problem")
    with JsonLines(path) as lines:
        for result in run_unordered(evaluate_one, in_time(), at_most(workers, len(left))):
            lines.append(asdict(result))
            done.append(result)
            progress.show(len(done), progress_note(workers))
    progress.close()
    return done


@dataclass(frozen=True, slots=True)
class Score:
    """What a model does on the problems that choose among models: lengths of those it solved, last and first plans."""

    lengths: Mapping[int, int]
    first: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Sequence[EvaluationResult]) -> "Score":
        solved = [result for result in results if result.method == SEARCH and result.length is not None]
        lengths = {result.problem: result.length for result in solved if result.length is not None}
        return cls(lengths, {result.problem: result.first for result in solved if result.first is not None})

    def better_than(self, other: "Score", share: float = 1.0) -> bool:
        """More problems solved; or, where both solved as many, plans shorter than `share` of the other's; or, where
        these are as long, first plans that are."""
        if len(self.lengths) != len(other.lengths):
            return len(self.lengths) > len(other.lengths)
        own, its = totals(self.lengths, other.lengths)
        if own != its:
            return own < share * its
        own, its = totals(self.first, other.first)
        return own < share * its

    def worse_than(self, other: "Score") -> bool:
        """Fewer problems solved; or, where both solved as many, longer plans; or, where these are as long, first plans
        that clearly are."""
        if len(self.lengths) != len(other.lengths):
            return len(self.lengths) < len(other.lengths)
        own, its = totals(self.lengths, other.lengths)
        if own != its:
            return own > its
        own, its = totals(self.first, other.first)
        return own > CLEARLY_LONGER * its

    def text(self, problems: int) -> str:
        length = f", mean length {mean(self.lengths.values()):.1f}" if self.lengths else ""
        first = f" (first plans {mean(self.first.values()):.1f})" if self.first else ""
        return f"{len(self.lengths)} of {problems} solved{length}{first}"


def totals(first: Mapping[int, int], second: Mapping[int, int]) -> tuple[int, int]:
    """Over the problems that both have."""
    common = first.keys() & second.keys()
    return sum(first[key] for key in common), sum(second[key] for key in common)


def table(results: Sequence[EvaluationResult], seconds: float) -> str:
    """How many problems each method solved, and lengths on the problems that every method solved."""
    problems = {result.problem for result in results}
    if not problems:
        return "no time was left to solve problems that were held out"
    solved = Counter(result.problem for result in results if result.length is not None)
    common = {problem for problem, methods in solved.items() if methods == len(METHODS)}
    lines = [f"held-out problems: {len(problems)}, {seconds:.0f} s each; lengths of the {len(common)} that all solved"]
    lines.append(f"{'method':<12}{'solved':>12}{'mean length':>13}")
    teacher = {result.problem: result.teacher for result in results}
    lines.append(line("teacher", len(problems), len(problems), [teacher[problem] for problem in common]))
    for method in METHODS:
        own = [result for result in results if result.method == method]
        lengths = [result.length for result in own if result.problem in common and result.length is not None]
        lines.append(line(method, sum(result.length is not None for result in own), len(own), lengths))
    return "\n".join(lines)


def line(name: str, solved: int, problems: int, lengths: Sequence[int]) -> str:
    length = f"{mean(lengths):.1f}" if lengths else "-"
    return f"{name:<12}{f'{solved} of {problems}':>12}{length:>13}"
