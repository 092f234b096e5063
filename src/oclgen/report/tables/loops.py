"""Self-improvement loop by loop: Best-of-N with the policy after each iteration, as a table and as a figure.

A loop of `oclgen improve` reports what it reached on its own test problems. Runs labelled best-of-n-oclgen-loop0,
best-of-n-oclgen-loop1 and so on give the same figures on the problems of a benchmark. Paper: tab:improvement_loop.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from oclgen.bench.record import LoopIteration
from oclgen.report.evaluation import MAIN, Evaluation, Result, Variant
from oclgen.report.figures import COLOURS, GREY, Picture, panels
from oclgen.report.paper import PAPER
from oclgen.report.statistics import mean_of
from oclgen.report.tables.results import limit_text
from oclgen.report.tables.table import Absent, Column, Row, Table, blank, count_cell, error_cell, number_cell, text_cell

LABEL = re.compile(r"best-of-n-(.+)-loop(\d+)")
NAMES = {"oclgen": "oclgen-uniform", "mcts": "mcts-full"}
"""What the methods of loops are called in the tables of searches."""
PLAIN = ", plain rollouts"
"""What the paper's profile samples; the default chains them."""
LACKING = "no loop of self-improvement among the records, and no runs labelled best-of-n-oclgen-loop0 and the like"

COLUMNS = (
    Column("Domain"),
    Column("Method"),
    Column("Tried on"),
    Column("Loop", numbers=("",)),
    Column("N", numbers=("",)),
    Column("Comp. [%]", numbers=("",)),
    Column("Length", numbers=("", "error")),
    Column("Always solved", numbers=("",)),
    Column("Teacher", numbers=("",)),
)


@dataclass(frozen=True, slots=True)
class LoopCurve:
    """Results of one loop on some problems, iteration by iteration; `curve` is its name in the figure."""

    domain: str
    label: str
    method: str
    tried_on: str
    curve: str
    iterations: tuple[LoopIteration, ...]


def loop_curves(evaluation: Evaluation) -> list[LoopCurve]:
    """Sorted by domain in the paper's order; the loops' own tests come before benchmark runs."""
    found = [*recorded(evaluation), *from_runs(evaluation)]
    order = PAPER.ordered({loop_curve.domain for loop_curve in found})
    return sorted(found, key=lambda loop_curve: order.index(loop_curve.domain))


def recorded(evaluation: Evaluation) -> Iterator[LoopCurve]:
    order = PAPER.ordered({loop.label for loop in evaluation.loops})
    for loop in sorted(evaluation.loops, key=lambda loop: order.index(loop.label)):
        tried_on = f"its test problems, best of {loop.samples}"
        yield LoopCurve(loop.domain, loop.label, loop.method, tried_on, PAPER.name(loop.label), loop.iterations)


def from_runs(evaluation: Evaluation) -> Iterator[LoopCurve]:
    groups: dict[tuple[str, float], dict[int, Variant]] = defaultdict(dict)
    for variant in evaluation.variants(MAIN, lambda label: LABEL.fullmatch(label) is not None):
        for method, number in LABEL.findall(variant.label):
            groups[method, variant.limit][int(number)] = variant
    for domain in evaluation.domains(MAIN):
        for (method, limit), variants in groups.items():
            results = {number: evaluation.results(MAIN, domain, variant) for number, variant in variants.items()}
            iterations = iterations_of({number: found for number, found in results.items() if found}, evaluation)
            if iterations:
                label = NAMES.get(method, method)
                tried_on = f"benchmark, {limit_text(limit)}{PLAIN if plain(results.values()) else ''}"
                curve = f"{PAPER.name(label)}, benchmark"
                yield LoopCurve(domain, label, method, tried_on, curve, iterations)


def plain(found: Iterable[Mapping[str, Result]]) -> bool:
    """Whether all runs were in the paper's profile."""
    return all(run.profile == "paper" for results in found for result in results.values() for run in result.runs)


def iterations_of(results: Mapping[int, Mapping[str, Result]], evaluation: Evaluation) -> tuple[LoopIteration, ...]:
    """The same figures as a loop reports, from each iteration's results by problem."""
    solved = {
        number: {key: result.length for key, result in found.items() if result.length is not None}
        for number, found in results.items()
    }
    always = set.intersection(*map(set, solved.values())) if solved else set()
    return tuple(
        iteration_of(number, list(results[number].values()), solved[number], always, evaluation)
        for number in sorted(results)
    )


def iteration_of(
    number: int, results: Sequence[Result], solved: Mapping[str, float], always: Collection[str], evaluation: Evaluation
) -> LoopIteration:
    length = mean_of(list(solved.values()))
    teachers = [evaluation.teacher_lengths[key] for key in solved if key in evaluation.teacher_lengths]
    return LoopIteration(
        iteration=number,
        problems=len(results),
        completion=sum(result.solved for result in results) / len(results),
        mean_length=None if length is None else length.mean,
        se=None if length is None else length.error,
        common_length=plain_mean([solved[key] for key in sorted(always)]),
        teacher_length=plain_mean(teachers) if len(teachers) == len(solved) else None,
    )


def plain_mean(values: Sequence[float]) -> float | None:
    found = mean_of(values)
    return None if found is None else found.mean


def improvement_loop(evaluation: Evaluation) -> Table | Absent:
    key, title = "improvement_loop", "Self-improvement, loop by loop"
    rows: list[Row] = []
    for loop_curve in loop_curves(evaluation):
        for index, iteration in enumerate(loop_curve.iterations):
            rows.append(our_row(loop_curve, iteration, rule=index == 0 and bool(rows)))
            rows += paper_rows(key, loop_curve, iteration.iteration)
    if not rows:
        return Absent(key, title, LACKING)
    caption = (
        "Best-of-N with the policy after each loop of self-improvement (0: the model it started from): completion and "
        "mean plan length (± standard error) over the solved ones of N problems, mean length over the problems that "
        "every loop solved, and the teacher's mean length on the solved ones."
    )
    return Table(key, title, caption, COLUMNS, tuple(rows))


def our_row(loop_curve: LoopCurve, iteration: LoopIteration, rule: bool) -> Row:
    return Row(
        (
            text_cell(PAPER.name(loop_curve.domain)),
            text_cell(PAPER.name(loop_curve.label)),
            text_cell(loop_curve.tried_on),
            count_cell(iteration.iteration),
            count_cell(iteration.problems),
            number_cell(100 * iteration.completion, 1),
            error_cell(iteration.mean_length, iteration.se),
            number_cell(iteration.common_length),
            number_cell(iteration.teacher_length),
        ),
        rule=rule,
    )


def paper_rows(key: str, loop_curve: LoopCurve, number: int) -> list[Row]:
    rows = []
    for row in PAPER.rows(key, f"best-of-n-{loop_curve.method}-loop{number}"):
        if loop_curve.domain in row.figures:
            completion, length, error = row.figures[loop_curve.domain]
            head = text_cell(PAPER.name(loop_curve.domain)), text_cell("paper"), text_cell(""), count_cell(number)
            cells = *blank(COLUMNS[4:5]), number_cell(completion, 1), error_cell(length, error), *blank(COLUMNS[7:])
            rows.append(Row((*head, *cells), source="paper"))
    return rows


def loop_picture(evaluation: Evaluation) -> Picture | Absent:
    """Two panels per domain: length and completion."""
    key, title = "improvement_over_loops", "Self-improvement over loops"
    found = loop_curves(evaluation)
    if not found:
        return Absent(key, title, LACKING)
    domains = list(dict.fromkeys(loop_curve.domain for loop_curve in found))
    curves = list(dict.fromkeys(loop_curve.curve for loop_curve in found))
    with panels(2 * len(domains), len(curves) + 1) as (figure, axes):
        for domain, lengths, shares in zip(domains, axes[::2], axes[1::2], strict=True):
            here = [loop_curve for loop_curve in found if loop_curve.domain == domain]
            for loop_curve in here:
                draw_loop_curve(lengths, shares, loop_curve, COLOURS[curves.index(loop_curve.curve) % len(COLOURS)])
            last = max(iteration.iteration for loop_curve in here for iteration in loop_curve.iterations)
            for ax, name in (lengths, "mean length"), (shares, "solved"):
                ax.set(title=PAPER.name(domain), xlabel="loop", ylabel=name, xticks=range(last + 1))
            shares.set_ylim(0, 1.03)
    caption = (
        "Best-of-N with the policy after each loop of self-improvement: mean plan length over the solved problems with "
        "its standard error (dotted: the teacher's mean on the same problems), and the share of problems solved."
    )
    return Picture(key, title, caption, figure)


def draw_loop_curve(lengths: Axes, shares: Axes, loop_curve: LoopCurve, colour: str) -> None:
    """The teacher's line has the colour of its loop; its legend entry is grey."""
    found = [
        (each.iteration, each.mean_length, each.se or 0.0)
        for each in loop_curve.iterations
        if each.mean_length is not None
    ]
    lengths.errorbar(
        [number for number, _, _ in found],
        [length for _, length, _ in found],
        yerr=[error for _, _, error in found],
        label=loop_curve.curve,
        color=colour,
        marker="o",
        markersize=4,
        capsize=3,
    )
    taught = [
        (each.iteration, each.teacher_length) for each in loop_curve.iterations if each.teacher_length is not None
    ]
    if taught:
        lengths.plot(*zip(*taught, strict=True), color=colour, linestyle=":")
        lengths.plot([], [], color=GREY, linestyle=":", label="teacher")
    numbers = [each.iteration for each in loop_curve.iterations]
    shares.plot(numbers, [each.completion for each in loop_curve.iterations], color=colour, marker="o", markersize=4)
