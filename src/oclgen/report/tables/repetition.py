"""How soon the first plan comes, and how much results differ from one random seed to another (ours)."""

from collections import defaultdict
from statistics import stdev

from oclgen.report.evaluation import MAIN, Evaluation, Result, Variant
from oclgen.report.paper import PAPER
from oclgen.report.statistics import mean_of
from oclgen.report.tables.results import limit_text
from oclgen.report.tables.table import (
    Absent,
    Cell,
    Column,
    Row,
    Table,
    blank,
    count_cell,
    error_cell,
    number_cell,
    text_cell,
)

SOON = 2.0
"""Seconds."""


def first_plans(evaluation: Evaluation) -> Table | Absent:
    key, title = "first_plans", "First plans"
    domains, variants = evaluation.domains(MAIN), evaluation.main_variants()
    if not variants:
        return Absent(key, title, "no runs on the main problems")
    block = (
        Column("Median [s]", numbers=("",)),
        Column("95 % [s]", numbers=("",)),
        Column(f"Within {SOON:g} s [%]", numbers=("",)),
    )
    columns = [Column(each.title, PAPER.name(domain), each.numbers) for domain in domains for each in block]
    found = [evaluation.fair_results(MAIN, domain, variants) for domain in domains]
    rows = []
    for variant in variants:
        cells = [text_cell(PAPER.name(variant.label)), text_cell(limit_text(variant.limit))]
        for results in found:
            cells += first_plan_cells(results[variant]) if results[variant] else blank(block)
        rows.append(Row(tuple(cells)))
    caption = (
        "Wall-clock seconds from the start of the process to the first plan: by when half and 95 % of all runs had one "
        "(– if fewer ever did), and the share of runs that had one soon."
    )
    return Table(key, title, caption, (Column("Method"), Column("Limit"), *columns), tuple(rows))


def first_plan_cells(results: dict[str, Result]) -> list[Cell]:
    runs = [run for result in results.values() for run in result.runs]
    seconds = sorted(run.first_seconds for run in runs if run.outcome == "solved" and run.first_seconds is not None)
    soon = sum(each <= SOON for each in seconds) / len(runs)
    return [number_cell(nth(seconds, 0.5, len(runs))), number_cell(nth(seconds, 0.95, len(runs))),
            number_cell(100 * soon, 1)]  # fmt: skip


def nth(ordered: list[float], share: float, total: int) -> float | None:
    """The least value that this share of `total` does not exceed; None if there are not so many values."""
    rank = max(1, -int(-share * total // 1))
    return ordered[rank - 1] if rank <= len(ordered) else None


def seeds(evaluation: Evaluation) -> Table | Absent:
    key, title = "seeds", "Random seeds"
    rows = [
        Row((text_cell(PAPER.name(variant.label)), text_cell(limit_text(variant.limit)), text_cell(PAPER.name(domain)),
             *cells))
        for variant in evaluation.main_variants()
        for domain in evaluation.domains(MAIN)
        if (cells := seed_cells(evaluation, domain, variant))
    ]  # fmt: skip
    if not rows:
        return Absent(key, title, "no method ran with several random seeds")
    columns = (
        *(Column("Seeds", numbers=("",)), Column("Problems", numbers=("",)), Column("Length", numbers=("", "sd"))),
        Column("Spread within a problem", numbers=("",)),
    )
    caption = (
        "Problems that every seed solved: mean length (± standard deviation between the means of seeds), and the mean "
        "standard deviation between the lengths that seeds found for the same problem."
    )
    return Table(key, title, caption, (Column("Method"), Column("Limit"), Column("Domain"), *columns), tuple(rows))


def seed_cells(evaluation: Evaluation, domain: str, variant: Variant) -> list[Cell]:
    """Empty where there is one seed, or no problem that all seeds solved."""
    lengths: dict[str, dict[int, int]] = defaultdict(dict)
    runs = evaluation.runs_of(MAIN, domain, variant)
    for run in runs:
        if run.outcome == "solved" and run.length is not None:
            lengths[run.fingerprint][run.seed] = run.length
    count = len({run.seed for run in runs})
    common = [found for found in lengths.values() if len(found) == count]
    if count < 2 or not common:
        return []
    means = mean_of([sum(found[seed] for found in common) / len(common) for seed in sorted(common[0])])
    assert means is not None
    spread = sum(stdev(found.values()) for found in common) / len(common)
    return [count_cell(count), count_cell(len(common)), error_cell(means.mean, means.deviation), number_cell(spread)]
