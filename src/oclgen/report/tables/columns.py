"""The columns of one domain in a table of results, filled from our results and from the paper's figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oclgen.report.evaluation import Evaluation, Result
from oclgen.report.statistics import mean_of
from oclgen.report.tables.table import Cell, Column, blank, count_text, error_cell, mean_cell, number_cell, of_cell

COMPLETION = Column("Comp. [%]", numbers=("",))
LENGTH = Column("Length", numbers=("", "error"))
OPTIMAL = Column("Optimal", numbers=("", "of"))
LENGTH_SOLVED = Column("Length (solved)", numbers=("", "solved", "of"))
LENGTH_KNOWN = Column("Length (optimum known)", numbers=("", "error"))
PLANS = Column("Plans", numbers=("", "sd"))
ROLLOUTS = Column("Rollouts", numbers=("", "sd"))


@dataclass(frozen=True, slots=True)
class Block:
    """Columns of one domain, and how to fill them from our results and from the paper's figures."""

    columns: tuple[Column, ...]
    ours: Callable[[Evaluation, Sequence[Result]], tuple[Cell, ...]]
    paper: Callable[..., tuple[Cell, ...]]


def completion_cell(results: Sequence[Result]) -> Cell:
    mean = mean_of([result.solved for result in results])
    return number_cell(None if mean is None else 100 * mean.mean, 1)


def length_cell(results: Sequence[Result]) -> Cell:
    return mean_cell(mean_of([result.length for result in results if result.length is not None]))


def optimal_cell(evaluation: Evaluation, results: Sequence[Result]) -> Cell:
    known = with_optimum(evaluation, results)
    return of_cell(sum(optimal_share(result, evaluation.optima[result.fingerprint]) for result in known), len(known))


def optimal_share(result: Result, optimum: int) -> float:
    """Of the runs with several seeds."""
    return sum(run.outcome == "solved" and run.length == optimum for run in result.runs) / len(result.runs)


def with_optimum(evaluation: Evaluation, results: Sequence[Result]) -> list[Result]:
    return [result for result in results if result.fingerprint in evaluation.optima]


def length_solved_cells(evaluation: Evaluation, results: Sequence[Result]) -> tuple[Cell, ...]:
    known = with_optimum(evaluation, results)
    lengths = [result.length for result in known if result.length is not None]
    mean = sum(lengths) / len(lengths) if lengths else None
    solved = sum(result.solved for result in known)
    return optimal_cell(evaluation, results), length_of_cell(mean, solved, len(known))


def length_of_cell(mean: float | None, solved: float, total: int) -> Cell:
    """`30.64 (630 / 630)`."""
    text = "–" if mean is None else f"{mean:.2f}"
    return Cell(f"{text} ({count_text(solved)} / {total})", (mean, solved, total))


def plans_cell(results: Sequence[Result]) -> Cell:
    counts = [run.sampled_plans for result in results for run in result.runs]
    return deviation_cell([count for count in counts if count is not None])


def rollouts_cell(results: Sequence[Result]) -> Cell:
    return deviation_cell([run.counters["rollouts"] for result in results for run in result.runs if run.counters])


def deviation_cell(counts: Sequence[float]) -> Cell:
    """Mean and standard deviation."""
    mean = mean_of(counts)
    return error_cell(None, None) if mean is None else error_cell(mean.mean, mean.deviation, 1)


COMPLETION_LENGTH = Block(
    (COMPLETION, LENGTH),
    lambda evaluation, results: (completion_cell(results), length_cell(results)),
    lambda completion, length, error: (number_cell(completion, 1), error_cell(length, error)),
)
OPTIMAL_LENGTH = Block(
    (OPTIMAL, LENGTH_SOLVED),
    length_solved_cells,
    lambda optimal, known, length, solved: (of_cell(optimal, known), length_of_cell(length, solved, known)),
)
OPTIMAL_COMPLETION_LENGTH = Block(
    (OPTIMAL, COMPLETION, LENGTH),
    lambda evaluation, results: (optimal_cell(evaluation, results), completion_cell(results), length_cell(results)),
    lambda optimal, known, completion, length, error: (
        of_cell(optimal, known),
        number_cell(completion, 1),
        error_cell(length, error),
    ),
)
OPTIMAL_LENGTHS = Block(
    (OPTIMAL, LENGTH_KNOWN, COMPLETION, LENGTH),
    lambda evaluation, results: (
        optimal_cell(evaluation, results),
        length_cell(with_optimum(evaluation, results)),
        completion_cell(results),
        length_cell(results),
    ),
    lambda optimal, known, length_known, error_known, completion, length, error: (
        of_cell(optimal, known),
        error_cell(length_known, error_known),
        number_cell(completion, 1),
        error_cell(length, error),
    ),
)
COMPLETION_ONLY = Block(
    (COMPLETION, LENGTH),
    lambda evaluation, results: (completion_cell(results), length_cell(results)),
    lambda completion: (number_cell(completion, 1), error_cell(None, None)),
)
SAMPLED = Block(
    (PLANS, ROLLOUTS),
    lambda evaluation, results: (plans_cell(results), rollouts_cell(results)),
    lambda mean, deviation: (error_cell(mean, deviation, 1), *blank((ROLLOUTS,))),
)
