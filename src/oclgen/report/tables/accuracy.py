"""The error of the heuristic model against the true cost-to-go: MAE and ME of its mode and of its percentile.

Paper: tab:mae_comparison, tab:mae_me_comparison (against proven optima), error histograms against the teacher.
"""

from collections.abc import Sequence

from oclgen.bench.record import EstimateRecord
from oclgen.report.evaluation import Evaluation
from oclgen.report.paper import PAPER
from oclgen.report.statistics import mean_of
from oclgen.report.tables.table import (
    Absent,
    Cell,
    Column,
    Row,
    Table,
    blank,
    count_cell,
    error_cell,
    mean_cell,
    number_cell,
    text_cell,
)

ERROR = ("", "error")
LOOPS = {"heuristic": 0, "heuristic-loop3": 3}
"""The labels that the paper has figures for, with the number of self-improvement loops behind them."""


def with_truth(evaluation: Evaluation, domain: str, label: str) -> list[tuple[EstimateRecord, int]]:
    """Estimates for problems whose optimum is proven."""
    return [
        (estimate, evaluation.optima[estimate.fingerprint])
        for estimate in evaluation.estimates
        if estimate.domain == domain and estimate.label == label and estimate.fingerprint in evaluation.optima
    ]


def with_teacher(evaluation: Evaluation, domain: str, label: str) -> list[tuple[EstimateRecord, int]]:
    """Estimates for problems with the teacher's own (suboptimal) length."""
    return [
        (estimate, evaluation.teacher_lengths[estimate.fingerprint])
        for estimate in evaluation.estimates
        if estimate.domain == domain and estimate.label == label and estimate.fingerprint in evaluation.teacher_lengths
    ]


def mean_absolute_error(values: Sequence[float], truths: Sequence[float]) -> Cell:
    return mean_cell(mean_of([abs(value - truth) for value, truth in zip(values, truths, strict=True)]))


def mean_error(values: Sequence[float], truths: Sequence[float]) -> Cell:
    return mean_cell(mean_of([value - truth for value, truth in zip(values, truths, strict=True)]))


def domains_and_labels(evaluation: Evaluation) -> list[tuple[str, str]]:
    domains = PAPER.ordered({estimate.domain for estimate in evaluation.estimates})
    labels = PAPER.ordered({estimate.label for estimate in evaluation.estimates})
    return [(domain, label) for domain in domains for label in labels if with_truth(evaluation, domain, label)]


def mae_me_comparison(evaluation: Evaluation) -> Table | Absent:
    key, title = "mae_me_comparison", "Heuristic against proven optima"
    pairs = domains_and_labels(evaluation)
    if not pairs:
        return Absent(key, title, "no heuristic estimates for problems with a proven optimum")
    rows: list[Row] = []
    for domain, label in pairs:
        rows.append(our_row(evaluation, domain, label, rule=bool(rows)))
        rows += paper_rows(domain, label, loops_of(evaluation, domain, label))
    columns = (
        Column("Domain"),
        Column("Model"),
        Column("Loops", numbers=("",)),
        Column("k", numbers=("",)),
        Column("N", numbers=("",)),
        Column("Mode", "MAE", ERROR),
        Column("Perc.", "MAE", ERROR),
        Column("Mode", "ME", ERROR),
        Column("Perc.", "ME", ERROR),
    )
    caption = (
        "Mean absolute error and mean error (estimate minus optimum, ± standard error) of the heuristic's estimate for "
        "initial states, read off its distribution as the mode and as the k-th percentile. Loops: how often the model "
        "went through self-improvement."
    )
    return Table(key, title, caption, columns, tuple(rows))


def our_row(evaluation: Evaluation, domain: str, label: str, rule: bool) -> Row:
    pairs = with_truth(evaluation, domain, label)
    truths = [truth for _, truth in pairs]
    modes = [estimate.mode for estimate, _ in pairs]
    percentiles = [estimate.estimate for estimate, _ in pairs]
    return Row(
        (
            text_cell(PAPER.name(domain)),
            text_cell(PAPER.name(label)),
            number_cell(loops_of(evaluation, domain, label), 0),
            count_cell(pairs[0][0].percentile),
            count_cell(len(pairs)),
            mean_absolute_error(modes, truths),
            mean_absolute_error(percentiles, truths),
            mean_error(modes, truths),
            mean_error(percentiles, truths),
        ),
        rule=rule,
    )


def loops_of(evaluation: Evaluation, domain: str, label: str) -> int | None:
    """The self-improvement loops of a model: as its records say, else as its label says, else None."""
    recorded = [estimate.loops for estimate, _ in with_truth(evaluation, domain, label) if estimate.loops is not None]
    if recorded:
        return recorded[-1]
    return LOOPS[label] if label == "heuristic-loop3" else None


def paper_rows(domain: str, label: str, loops: int | None) -> list[Row]:
    """The paper's model of the label; beside a model after loops only the paper's after its loops."""
    after = label == "heuristic" and loops
    return [
        paper_row(domain, LOOPS[row.label], row.figures[domain])
        for row in PAPER.rows("mae_me_comparison", "heuristic-loop3" if after else label)
        if domain in row.figures
    ]


def paper_row(domain: str, loops: int, figures: Sequence[float]) -> Row:
    cells = [error_cell(figures[index], figures[index + 1]) for index in range(0, 8, 2)]
    unknown = number_cell(None)
    head = text_cell(PAPER.name(domain)), text_cell("paper"), count_cell(loops)
    return Row((*head, unknown, unknown, *cells), source="paper")


def mae_comparison(evaluation: Evaluation) -> Table | Absent:
    """The same errors before and after self-improvement, side by side."""
    key, title = "mae_comparison", "Heuristic before and after self-improvement"
    pairs = domains_and_labels(evaluation)
    domains = [
        domain
        for domain in dict.fromkeys(domain for domain, _ in pairs)
        if (domain, "heuristic-loop3") in pairs and not loops_of(evaluation, domain, "heuristic")
    ]
    if not domains:
        lacking = "no heuristic estimates labelled heuristic (a model before self-improvement) and heuristic-loop3"
        return Absent(key, title, f"{lacking} for problems with a proven optimum")
    columns = [Column(name, PAPER.name(domain), ERROR) for domain in domains for name in ("0 loops", "3 loops")]
    rows: list[Row] = []
    for index, name in enumerate(("Mode", "Perc.")):
        cells = [mae_cell(evaluation, domain, label, index) for domain in domains for label in LOOPS]
        rows.append(Row((text_cell(name), *cells), rule=bool(rows)))
        cells = [cell for domain in domains for cell in paper_maes(domain, 2 * index)]
        rows.append(Row((text_cell("paper"), *cells), source="paper"))
    caption = "Mean absolute error (± standard error) against proven optima."
    return Table(key, title, caption, (Column("Estimate"), *columns), tuple(rows))


def mae_cell(evaluation: Evaluation, domain: str, label: str, index: int) -> Cell:
    pairs = with_truth(evaluation, domain, label)
    values = [(estimate.mode, estimate.estimate)[index] for estimate, _ in pairs]
    return mean_absolute_error(values, [truth for _, truth in pairs])


def paper_maes(domain: str, position: int) -> list[Cell]:
    cells = []
    for label in LOOPS:
        figures = [row.figures[domain] for row in PAPER.rows("mae_me_comparison", label) if domain in row.figures]
        if figures:
            cells.append(error_cell(figures[0][position], figures[0][position + 1]))
        else:
            cells += blank([Column("", numbers=ERROR)])
    return cells
