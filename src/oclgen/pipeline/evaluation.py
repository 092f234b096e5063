"""How well a model solves problems that it has not learned from, beside its teacher."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

from oclgen.data.attempts import Attempt, run_attempt
from oclgen.data.dataset import Row
from oclgen.support.files import JsonLines, read_json_lines
from oclgen.support.parallel import Workers, at_most, progress_note, run_unordered
from oclgen.support.progress import Progress

POLICY, SEARCH = METHODS = ("best-of-n", "oclgen")
MEMORY_LIMIT = 4 << 30


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
    attempt = Attempt(
        job.domain_text,
        row.problem,
        job.method,
        job.model,
        seconds=job.seconds,
        memory_bytes=MEMORY_LIMIT,
        seed=job.seed,
    )
    result = run_attempt(attempt)
    length = None if result is None or result.plan is None else len(result.plan)
    return EvaluationResult(row.id, job.method, length, row.length)


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
    """What a model does on the problems that choose among models: lengths of those it solved."""

    lengths: Mapping[int, int]

    @classmethod
    def of(cls, results: Sequence[EvaluationResult]) -> "Score":
        return cls({each.problem: each.length for each in results if each.method == SEARCH and each.length is not None})

    def better_than(self, other: "Score") -> bool:
        """More problems solved, or shorter plans where both solved as many."""
        if len(self.lengths) != len(other.lengths):
            return len(self.lengths) > len(other.lengths)
        common = self.lengths.keys() & other.lengths.keys()
        return sum(self.lengths[key] for key in common) < sum(other.lengths[key] for key in common)

    def text(self, problems: int) -> str:
        length = f", mean length {mean(self.lengths.values()):.1f}" if self.lengths else ""
        return f"{len(self.lengths)} of {problems} solved{length}"


def table(results: Sequence[EvaluationResult], seconds: float) -> str:
    """How many problems each method solved, and lengths on the problems that every method solved."""
    problems = {result.problem for result in results}
    if not problems:
        return "no time was left to solve problems that were held out"
    common = problems - {result.problem for result in results if result.length is None}
    lines = [f"{len(problems)} problems held out, {seconds:.0f} s each; lengths over the {len(common)} that all solved"]
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
