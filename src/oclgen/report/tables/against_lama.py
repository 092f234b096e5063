"""OCLGen beside LAMA-anytime: at equal seconds, on small and large problems, on other sets of problems (ours)."""

from collections.abc import Sequence

from oclgen.classical.planners import PLANNERS
from oclgen.report.evaluation import MAIN, Evaluation, Result, Variant, paired_lengths
from oclgen.report.paper import PAPER
from oclgen.report.tables.columns import COMPLETION, LENGTH, OPTIMAL, completion_cell, length_cell, optimal_cell
from oclgen.report.tables.results import limit_text
from oclgen.report.tables.table import (
    NONE,
    Absent,
    Cell,
    Column,
    Row,
    Table,
    count_cell,
    count_text,
    number_cell,
    text_cell,
)

SECONDS = (1.0, 3.0, 5.0, 10.0, 30.0, 60.0)
LAMA = "lama"
OWN_TABLES = (MAIN, "failed", "interpolate", "extrapolate", "easy", "larger")
"""Sets of problems that other tables are about."""


def ratio_to_lama(evaluation: Evaluation) -> Table | Absent:
    """Mean length over LAMA-anytime's on commonly solved problems after the same wall-clock seconds."""
    key, title = "ratio_to_lama", "Ratio to LAMA-anytime at equal seconds"
    labels = [label for label in dict.fromkeys(e.label for e in evaluation.main_variants()) if label not in PLANNERS]
    domains = evaluation.domains(MAIN)
    if not labels or not any(evaluation.longest(MAIN, domain, LAMA) for domain in domains):
        return Absent(key, title, "no runs labelled lama beside a learned method on the main problems")
    columns = [
        Column(name, PAPER.name(domain), numbers)
        for domain in domains
        for name, numbers in (("Ratio", ("",)), ("N", ("common", "ours", LAMA)))
    ]
    rows: list[Row] = []
    for seconds in SECONDS:
        first = len(rows)
        for label in labels:
            cells = [cell for domain in domains for cell in ratio_cells(evaluation, domain, label, seconds)]
            if any(cell.text != NONE for cell in cells):
                head = text_cell(limit_text(seconds)), text_cell(PAPER.name(label))
                rows.append(Row((*head, *cells), rule=0 < first == len(rows)))
    rows += paper_ratios(labels, domains)
    caption = (
        "Mean length divided by LAMA-anytime's on the problems that both had solved by then (N: both, ours, LAMA), "
        "read off the trace of the longest run of each. Below 1: shorter than LAMA at the same wall-clock second. The "
        "paper's are ratios of its means at ten minutes."
    )
    return Table(key, title, caption, (Column("At"), Column("Method"), *columns), tuple(rows))


def ratio_cells(evaluation: Evaluation, domain: str, label: str, seconds: float) -> list[Cell]:
    variants = evaluation.longest(MAIN, domain, label), evaluation.longest(MAIN, domain, LAMA)
    if any(variant is None or variant.limit < seconds for variant in variants):
        return [Cell(NONE, (None,)), Cell(NONE, (None, None, None))]
    known = [variant for variant in variants if variant is not None]
    ours, lama = evaluation.fair_results(MAIN, domain, known, lambda run: run.length_at(seconds)).values()
    lengths = paired_lengths(ours, lama)
    ratio = sum(lengths[0]) / sum(lengths[1]) if any(lengths[1]) else None
    counts = (len(lengths[0]), solved_count(ours), solved_count(lama))
    common, *each = map(count_text, counts)
    return [number_cell(ratio, 3), Cell(f"{common} ({', '.join(each)})", counts)]


def solved_count(results: dict[str, Result]) -> float:
    return sum(result.solved for result in results.values())


def paper_ratios(labels: Sequence[str], domains: Sequence[str]) -> list[Row]:
    lama = PAPER.rows("main_results", LAMA)[0]
    rows: list[Row] = []
    for label in labels:
        for row in PAPER.rows("main_results", label):
            cells: list[Cell] = []
            for domain in domains:
                known = domain in row.figures
                ratio = row.figures[domain][1] / lama.figures[domain][1] if known else None
                cells += [number_cell(ratio, 3), Cell(NONE, (None, None, None))]
            head = text_cell("10 min"), text_cell(f"paper: {PAPER.name(label)}")
            rows.append(Row((*head, *cells), source="paper", rule=not rows))
    return rows


def ratio_by_size(evaluation: Evaluation) -> Table | Absent:
    """The ratio on the half of the problems with fewer objects and on the half with more."""
    key, title = "ratio_by_size", "Ratio to LAMA-anytime on small and large problems"
    columns = tuple(
        Column(name, half, numbers)
        for half in ("Fewer objects", "More objects")
        for name, numbers in (("Objects", ("from", "to")), ("Ratio", ("",)), ("N", ("",)))
    )
    rows = [
        Row((text_cell(PAPER.name(variant.label)), text_cell(limit_text(variant.limit)), text_cell(PAPER.name(domain)),
             *cells))
        for variant in learned_variants(evaluation)
        for domain in evaluation.domains(MAIN)
        if (cells := size_cells(evaluation, domain, variant))
    ]  # fmt: skip
    if not rows:
        return Absent(key, title, "no runs beside LAMA-anytime under the same limit whose records say how many objects")
    caption = (
        "Mean length divided by LAMA-anytime's under the same limit on the problems that both solved (N), for the half "
        "of a domain's problems with fewer objects and for the other half."
    )
    return Table(key, title, caption, (Column("Method"), Column("Limit"), Column("Domain"), *columns), tuple(rows))


def learned_variants(evaluation: Evaluation) -> list[Variant]:
    return [variant for variant in evaluation.main_variants() if variant.label not in PLANNERS]


def size_cells(evaluation: Evaluation, domain: str, variant: Variant) -> list[Cell]:
    """Empty where LAMA has no such limit, or where fewer than two problems have a known size."""
    ours = evaluation.results(MAIN, domain, variant)
    lama = evaluation.results(MAIN, domain, Variant(LAMA, variant.limit))
    sizes = {key: size for key, result in ours.items() if (size := result.runs[0].objects) is not None}
    ordered = sorted(sizes, key=lambda key: (sizes[key], key))
    if len(ordered) < 2 or not lama:
        return []
    middle = len(ordered) // 2
    cells: list[Cell] = []
    for half in (ordered[:middle], ordered[middle:]):
        span = sizes[half[0]], sizes[half[-1]]
        ratio, count = common_ratio({key: ours[key] for key in half}, lama)
        cells += [Cell(f"{span[0]}–{span[1]}", span), number_cell(ratio, 3), count_cell(count)]
    return cells


def common_ratio(ours: dict[str, Result], lama: dict[str, Result]) -> tuple[float | None, int]:
    """The ratio of mean lengths on commonly solved problems, and their number."""
    lengths = paired_lengths(ours, lama)
    return (sum(lengths[0]) / sum(lengths[1]) if any(lengths[1]) else None), len(lengths[0])


def other_sets(evaluation: Evaluation) -> Table | Absent:
    """Every other set of problems, such as sizes beyond the training ranges."""
    key, title = "other_sets", "Other sets of problems"
    sets = sorted({run.set for run in evaluation.runs} - set(OWN_TABLES))
    rows: list[Row] = []
    for problem_set in sets:
        for domain in evaluation.domains(problem_set):
            first = len(rows)
            variants = evaluation.variants(problem_set, lambda label: True)
            for variant, results in evaluation.fair_results(problem_set, domain, variants).items():
                if results:
                    head = [problem_set, PAPER.name(domain), PAPER.name(variant.label), limit_text(variant.limit)]
                    cells = other_set_cells(evaluation, problem_set, domain, variant, results)
                    rows.append(Row((*map(text_cell, head), *cells), rule=0 < first == len(rows)))
    if not rows:
        return Absent(key, title, "no runs on sets of problems other than the main one")
    caption = (
        "Completion and mean length (± standard error) over the problems solved, and the ratio to LAMA-anytime under "
        "the same limit on the problems that both solved (N)."
    )
    measured = (
        Column("Problems", numbers=("",)),
        COMPLETION,
        LENGTH,
        OPTIMAL,
        Column("Ratio", numbers=("",)),
        Column("N", numbers=("",)),
    )
    named = Column("Set"), Column("Domain"), Column("Method"), Column("Limit")
    return Table(key, title, caption, (*named, *measured), tuple(rows))


def other_set_cells(
    evaluation: Evaluation, problem_set: str, domain: str, variant: Variant, results: dict[str, Result]
) -> list[Cell]:
    ratio, count = common_ratio(results, evaluation.results(problem_set, domain, Variant(LAMA, variant.limit)))
    found = list(results.values())
    cells = [count_cell(len(found)), completion_cell(found), length_cell(found), optimal_cell(evaluation, found)]
    return [*cells, number_cell(ratio, 3), count_cell(count)]
