"""Many domains, few methods: one row a domain, with what counts in the IPC's learning track."""

from collections.abc import Sequence
from functools import partial
from statistics import median

from oclgen.report.evaluation import Evaluation, Result, Variant, is_main_label
from oclgen.report.paper import PAPER
from oclgen.report.statistics import satisficing_score
from oclgen.report.tables.results import limit_text
from oclgen.report.tables.table import NONE, Absent, Cell, Column, Row, Table, count_cell, number_cell, text_cell

COLUMNS = ("Solved", "Score", "First plan [s]")


def by_domain(evaluation: Evaluation, problem_set: str) -> Table | Absent:
    """A table of the problem sets `easy` and `larger`."""
    key, title = f"by_domain_{problem_set}", f"Domain by domain: {problem_set} problems"
    variants, domains = evaluation.variants(problem_set, is_main_label), evaluation.domains(problem_set)
    if not variants:
        return Absent(key, title, f"no runs on a problem set named {problem_set}")
    columns = [
        Column(name, f"{PAPER.name(variant.label)}, {limit_text(variant.limit)}", ("",))
        for variant in variants
        for name in COLUMNS
    ]
    found = {domain: results_of(evaluation, problem_set, domain, variants) for domain in domains}
    rows = [row(evaluation, PAPER.names.get(domain, domain.capitalize()), results) for domain, results in found.items()]
    everything = [[result for results in each for result in results] for each in zip(*found.values(), strict=True)]
    rows.append(row(evaluation, "all", everything, rule=True))
    caption = (
        "Score: the sum of best known length / length, where the best known is the shortest of what others published "
        "and of all runs here. First plan: the median over the problems that the method solved."
    )
    return Table(key, title, caption, (Column("Domain"), Column("Problems", numbers=("",)), *columns), tuple(rows))


def results_of(
    evaluation: Evaluation, problem_set: str, domain: str, variants: Sequence[Variant]
) -> list[list[Result]]:
    """Of each variant, on the same problems."""
    return [list(each.values()) for each in evaluation.fair_results(problem_set, domain, variants).values()]


def row(evaluation: Evaluation, name: str, results: Sequence[list[Result]], rule: bool = False) -> Row:
    cells = [cell for each in results for cell in method_cells(evaluation, each)]
    problems = len({result.fingerprint for each in results for result in each})
    return Row((text_cell(name), count_cell(problems), *cells), rule=rule)


def method_cells(evaluation: Evaluation, results: list[Result]) -> tuple[Cell, Cell, Cell]:
    if not results:
        return (Cell(NONE, (None,)),) * 3
    score = sum(
        satisficing_score(evaluation.best_known.get(result.fingerprint, 0), run.length) / len(result.runs)
        for result in results
        for run in result.runs
        if run.outcome == "solved"
    )
    firsts = [run.first_seconds for result in results for run in result.runs if run.outcome == "solved"]
    known = [seconds for seconds in firsts if seconds is not None]
    solved = sum(result.solved for result in results)
    return number_cell(solved, 0), number_cell(score, 1), number_cell(median(known) if known else None, 2)


easy, larger = partial(by_domain, problem_set="easy"), partial(by_domain, problem_set="larger")
