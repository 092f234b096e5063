"""Comparisons on the same problems: paired tests, commonly solved problems, competition scores, equal seconds.

A mean over the problems that a method solved favours methods that solve only easy ones.
Paper: tab:statistical_comparison and tab:statistical_comparison_iter3.
"""

from collections.abc import Sequence

from oclgen.report.evaluation import ABLATIONS, MAIN, Evaluation, Result, Variant, is_loop_search, paired_lengths
from oclgen.report.paper import PAPER, base_label, in_papers_profile
from oclgen.report.statistics import agile_score, compare, mean_of, satisficing_score
from oclgen.report.tables.results import WHOLE, limit_text
from oclgen.report.tables.table import (
    NONE,
    Absent,
    Cell,
    Column,
    Row,
    Table,
    blank,
    count_cell,
    error_cell,
    number_cell,
    p_cell,
    text_cell,
)

SAME_PROFILE = "Other methods in the paper's profile are compared with ours in that profile."
PAIRED = (
    Column("N", numbers=("",)),
    Column("Mean Δ", numbers=("", "error")),
    Column("Cohen's d", numbers=("",)),
    Column("Wilcoxon p", numbers=("",)),
    Column("Shorter / equal / longer", numbers=("shorter", "equal", "longer")),
)


def statistical_comparison(evaluation: Evaluation) -> Table | Absent:
    reference = evaluation.reference
    title = "Paired statistical comparison"
    if reference is None:
        return Absent("statistical_comparison", title, "no runs of OCLGen on the main problems")
    others = [variant for variant in evaluation.main_variants() if variant.label != reference]
    caption = (
        f"Length of {PAPER.name(reference)} minus that of the other method on problems both solved within the same "
        "limit (with their first seed): mean ± standard error, mean / standard deviation, two-sided signed-rank test. "
        "Negative: ours shorter. "
        f"{SAME_PROFILE}"
    )
    return paired_table(evaluation, "statistical_comparison", title, caption, reference, others)


def statistical_comparison_iter3(evaluation: Evaluation) -> Table | Absent:
    reference = "oclgen-loop3"
    others = evaluation.variants(MAIN, lambda label: is_loop_search(label) and label != reference)
    caption = (
        f"The same for {PAPER.name(reference)}: against the models it started from (0 loops), and against MCTS, which "
        "in the paper has the models of its own loops."
    )
    return paired_table(
        evaluation,
        "statistical_comparison_iter3",
        "Paired statistical comparison after self-improvement",
        caption,
        reference,
        others,
    )


def ablations_paired(evaluation: Evaluation) -> Table | Absent:
    others = evaluation.variants(MAIN, lambda label: label in ABLATIONS)
    caption = f"The same for {PAPER.name(WHOLE)} against itself with one component changed."
    title = "Paired statistical comparison of ablations"
    return paired_table(evaluation, "ablations_paired", title, caption, WHOLE, others)


def paired_table(
    evaluation: Evaluation, key: str, title: str, caption: str, reference: str, others: Sequence[Variant]
) -> Table | Absent:
    """The paper's figures stand beside a method in the paper's profile, where there is one."""
    rows: list[Row] = []
    labels = {other.label for other in others}
    for other in others:
        first = len(rows)
        superseded = in_papers_profile(other.label) in labels
        ours = Variant(evaluation.counterpart(other.label, reference), other.limit)
        for domain in evaluation.domains(MAIN):
            cells = paired_cells(evaluation, domain, ours, other)
            if cells is not None:
                name = text_cell(PAPER.name(other.label)), text_cell(limit_text(other.limit))
                rows.append(Row((*name, text_cell(PAPER.name(domain)), *cells), rule=0 < first == len(rows)))
                rows += [] if superseded else paper_pairs(key, base_label(other.label), domain)
    if not rows:
        return Absent(key, title, f"no other method ran under the same limit as {reference!r} on the main problems")
    return Table(key, title, caption, (Column("Against"), Column("Limit"), Column("Domain"), *PAIRED), tuple(rows))


def paired_cells(evaluation: Evaluation, domain: str, first: Variant, second: Variant) -> tuple[Cell, ...] | None:
    results = evaluation.results(MAIN, domain, first), evaluation.results(MAIN, domain, second)
    if not all(results):
        return None
    paired = compare(*paired_lengths(*results))
    if paired is None:
        return (count_cell(0), *blank(PAIRED[1:]))
    balance = (paired.shorter, paired.equal, paired.longer)
    return (
        count_cell(paired.count),
        error_cell(paired.difference, paired.error),
        number_cell(paired.cohens_d),
        p_cell(paired.p_value),
        Cell(" / ".join(map(str, balance)), balance),
    )


def paper_pairs(key: str, label: str, domain: str) -> list[Row]:
    rows = []
    for row in PAPER.rows(key, label):
        if domain in row.figures:
            count, difference, error, cohens_d, p_value = row.figures[domain]
            cells = count_cell(count), error_cell(difference, error), number_cell(cohens_d), p_cell(p_value)
            name = text_cell("paper"), text_cell(limit_text(row.limit)), text_cell(PAPER.name(domain))
            rows.append(Row((*name, *cells, *blank(PAIRED[4:])), source="paper"))
    return rows


def commonly_solved(evaluation: Evaluation) -> Table | Absent:
    """Each method beside ours on the problems both solved: lengths and their ratio."""
    key, title = "commonly_solved", "Commonly solved problems"
    reference = evaluation.reference
    others = [variant for variant in evaluation.main_variants() if variant.label != reference]
    domains = evaluation.domains(MAIN)
    if reference is None or not others:
        return Absent(key, title, "fewer than two methods on the main problems")
    columns = [
        Column(name, PAPER.name(domain), numbers)
        for domain in domains
        for name, numbers in (("N", ("",)), ("Ours", ("",)), ("Theirs", ("",)), ("Ratio", ("",)))
    ]
    rows = []
    for other in others:
        cells = [text_cell(PAPER.name(other.label)), text_cell(limit_text(other.limit))]
        for domain in domains:
            ours = Variant(evaluation.counterpart(other.label, reference), other.limit)
            cells += common_cells(*(evaluation.results(MAIN, domain, variant) for variant in (ours, other)))
        rows.append(Row(tuple(cells)))
    caption = (
        f"Mean lengths of {PAPER.name(reference)} and of the other method, both under the same limit, on the problems "
        f"that both solved with their first seed. A ratio below 1 means that ours are shorter. {SAME_PROFILE}"
    )
    return Table(key, title, caption, (Column("Method"), Column("Limit"), *columns), tuple(rows))


def common_cells(first: dict[str, Result], second: dict[str, Result]) -> list[Cell]:
    """Blank where one of the two was not run."""
    if not first or not second:
        return [number_cell(None)] * 4
    ours, theirs = (mean_of(lengths) for lengths in paired_lengths(first, second))
    if ours is None or theirs is None:
        return [count_cell(0), number_cell(None), number_cell(None), number_cell(None)]
    ratio = ours.mean / theirs.mean if theirs.mean else None
    return [count_cell(ours.count), number_cell(ours.mean), number_cell(theirs.mean), number_cell(ratio, 3)]


def ipc_scores(evaluation: Evaluation) -> Table | Absent:
    key, title = "ipc_scores", "Competition scores"
    variants, domains = evaluation.main_variants(), evaluation.domains(MAIN)
    if not variants:
        return Absent(key, title, "no runs on the main problems")
    columns = [Column(name, PAPER.name(domain), ("", "of")) for domain in domains for name in ("Satisficing", "Agile")]
    found = [evaluation.fair_results(MAIN, domain, variants) for domain in domains]
    rows = []
    for variant in variants:
        cells = [text_cell(PAPER.name(variant.label)), text_cell(limit_text(variant.limit))]
        for results in found:
            cells += score_cells(evaluation, results[variant], variant.limit)
        rows.append(Row(tuple(cells)))
    caption = (
        "IPC scores, summed over problems. Satisficing: best known length / length. Agile: 1 up to one second, falling "
        "with the logarithm to 0 at the limit. An invalid plan zeroes a method's whole domain."
    )
    return Table(key, title, caption, (Column("Method"), Column("Limit"), *columns), tuple(rows))


def score_cells(evaluation: Evaluation, results: dict[str, Result], limit: float) -> list[Cell]:
    if not results:
        return [Cell(NONE, (None, None))] * 2
    if any("invalid plan" in (run.error or "") for result in results.values() for run in result.runs):
        return [Cell("0 (invalid plan)", (0.0, len(results)))] * 2
    satisficing = agile = 0.0
    for result in results.values():
        best = evaluation.best_known.get(result.fingerprint, 0)
        share = 1 / len(result.runs)
        for run in result.runs:
            solved = run.outcome == "solved"
            satisficing += share * satisficing_score(best, run.length if solved else None)
            agile += share * agile_score(run.first_seconds if solved else None, limit)
    return [Cell(f"{score:.1f} / {len(results)}", (score, len(results))) for score in (satisficing, agile)]


def taskwise(evaluation: Evaluation) -> Table | Absent:
    """One line per problem: each method's length and the second of its first plan."""
    key, title = "taskwise", "Problem by problem"
    variants = evaluation.main_variants()
    if not variants:
        return Absent(key, title, "no runs on the main problems")
    rows: list[Row] = []
    for domain in evaluation.domains(MAIN):
        results = [evaluation.results(MAIN, domain, variant) for variant in variants]
        names = {run.fingerprint: run.problem for found in results for result in found.values() for run in result.runs}
        for index, (fingerprint, name) in enumerate(sorted(names.items(), key=lambda item: item[1])):
            optimum = evaluation.optima.get(fingerprint)
            cells = [task_cell(found.get(fingerprint)) for found in results]
            head = text_cell(PAPER.name(domain)), text_cell(name), number_cell(optimum, 0)
            rows.append(Row((*head, *cells), rule=index == 0 and bool(rows)))
    columns = [
        Column(f"{PAPER.name(variant.label)}, {limit_text(variant.limit)}", numbers=("length", "first plan"))
        for variant in variants
    ]
    caption = "Length of the best plan and, in brackets, the second of the first one; – unsolved, ! broken."
    head_columns = Column("Domain"), Column("Problem"), Column("Optimum", numbers=("",))
    return Table(key, title, caption, (*head_columns, *columns), tuple(rows))


def task_cell(result: Result | None) -> Cell:
    if result is None:
        return Cell("", (None, None))
    if any(run.outcome == "broken" for run in result.runs):
        return Cell("!", (None, None))
    firsts = mean_of([run.first_seconds for run in result.runs if run.first_seconds is not None])
    if result.length is None or firsts is None:
        return Cell(NONE, (None, None))
    return Cell(f"{result.length:g} ({firsts.mean:.1f})", (result.length, firsts.mean))
