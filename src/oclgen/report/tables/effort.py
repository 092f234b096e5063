"""What searches did with their time (ours): iterations, expansions, and states that the heuristic was asked about."""

from statistics import median

from oclgen.report.evaluation import ABLATIONS, MAIN, Evaluation, Result
from oclgen.report.paper import PAPER, in_papers_profile
from oclgen.report.tables.results import WHOLE, limit_text
from oclgen.report.tables.table import Absent, Cell, Column, Row, Table, blank, number_cell, text_cell

COUNTERS = ("iterations", "expanded", "evaluated")
BLOCK = tuple(Column(name.capitalize(), numbers=("",)) for name in COUNTERS)


def effort(evaluation: Evaluation) -> Table | Absent:
    key, title = "effort", "Work done within the limit"
    labels = (WHOLE, in_papers_profile(WHOLE), *ABLATIONS)
    found = evaluation.variants(MAIN, lambda label: label in labels)
    domains = evaluation.domains(MAIN)
    results = [evaluation.fair_results(MAIN, domain, found) for domain in domains]
    rows = [
        Row(
            (
                text_cell(PAPER.name(variant.label)),
                text_cell(limit_text(variant.limit)),
                *(cell for each in results for cell in effort_cells(evaluation, each[variant])),
            )
        )
        for variant in found
    ]
    if not rows:
        return Absent(key, title, "no runs of OCLGen on the main problems")
    caption = (
        "Medians over problems whose optimum is not proved, where no run ends early: iterations of OCLGen (initial "
        "rollouts are none), states that were expanded, and states that the heuristic was asked about."
    )
    columns = [Column(each.title, PAPER.name(domain), each.numbers) for domain in domains for each in BLOCK]
    return Table(key, title, caption, (Column("Method"), Column("Limit"), *columns), tuple(rows))


def effort_cells(evaluation: Evaluation, results: dict[str, Result]) -> tuple[Cell, ...]:
    counters = [
        run.counters
        for result in results.values()
        if result.fingerprint not in evaluation.optima
        for run in result.runs
        if run.counters
    ]
    if not counters:
        return blank(BLOCK)
    return tuple(number_cell(median(each.get(name, 0) for each in counters), 0) for name in COUNTERS)
