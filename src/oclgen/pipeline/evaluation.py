"""How well a new model solves problems it has never seen, beside its teacher."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from oclgen.data.dataset import Row
from oclgen.errors import UnsupportedError
from oclgen.planner import solve
from oclgen.support.parallel import run_unordered

METHODS = ("best-of-n", "oclgen")


@dataclass(frozen=True, slots=True)
class Question:
    model: Path
    domain_text: str
    row: Row
    method: str
    seconds: float
    seed: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Length of the best plan, if any; `teacher` is that of the teacher's."""

    problem: int
    method: str
    length: int | None
    teacher: int


def ask(question: Question) -> Answer:
    row = question.row
    try:
        result = solve(
            question.domain_text,
            row.problem,
            time_limit=question.seconds,
            method=question.method,
            model=question.model,
            seed=question.seed,
        )
    except UnsupportedError:
        return Answer(row.id, question.method, None, row.length)
    return Answer(row.id, question.method, len(result.plan) if result.plan is not None else None, row.length)


def examine(
    model: Path, domain_text: str, rows: Iterable[Row], seconds: float, workers: int, seed: int
) -> Iterator[Answer]:
    """Each problem by the policy alone and by the search, `seconds` each."""
    questions = (Question(model, domain_text, row, method, seconds, seed) for row in rows for method in METHODS)
    return run_unordered(ask, questions, workers)


def table(answers: Sequence[Answer], seconds: float) -> str:
    """Completion, and lengths on the problems that every method solved."""
    problems = {answer.problem for answer in answers}
    if not problems:
        return "the teacher solved none of the problems held out: nothing to compare with"
    unsolved = {answer.problem for answer in answers if answer.length is None}
    common = problems - unsolved
    lines = [f"{len(problems)} problems held out, {seconds:.0f} s each; lengths over the {len(common)} that all solved"]
    lines.append(f"{'method':<12}{'solved':>8}{'mean length':>13}")
    taught = [answer.teacher for answer in answers if answer.method == METHODS[0] and answer.problem in common]
    lines.append(line("teacher", len(problems), len(problems), taught))
    for method in METHODS:
        own = [answer for answer in answers if answer.method == method]
        solved = sum(answer.length is not None for answer in own)
        lengths = [answer.length for answer in own if answer.problem in common and answer.length is not None]
        lines.append(line(method, solved, len(problems), lengths))
    return "\n".join(lines)


def line(name: str, solved: int, problems: int, lengths: Sequence[int]) -> str:
    length = f"{mean(lengths):.1f}" if lengths else "-"
    return f"{name:<12}{solved / problems:>8.0%}{length:>13}"
