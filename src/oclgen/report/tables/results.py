"""The paper's result tables: completion, lengths and optimal counts per method and domain.

Paper: tab:main_results, tab:results_optimal, tab:results_subset, tab:ablations, tab:results_saw_vs_act,
tab:number_of_rollout_time_limit_best_of_N, tab:improvement_final, and the generalisation experiment of the appendix.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from oclgen.report.evaluation import ABLATIONS, MAIN, Evaluation, Result, Variant, is_loop_search
from oclgen.report.paper import PAPER, PaperRow, base_label, in_papers_profile
from oclgen.report.tables.columns import (
    COMPLETION_LENGTH,
    COMPLETION_ONLY,
    OPTIMAL_COMPLETION_LENGTH,
    OPTIMAL_LENGTH,
    OPTIMAL_LENGTHS,
    SAMPLED,
    Block,
)
from oclgen.report.tables.table import Absent, Cell, Column, Row, Table, blank, text_cell
from oclgen.search.anytime import Ending

WHOLE = "oclgen-uniform"
COMPILATION = ("not-compiled", "compiled")
SHORT_ENOUGH = Ending.SHORT_ENOUGH.value


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """A group of columns: a set of problems of one domain, under the name that the paper's figures have."""

    set: str
    domain: str
    title: str
    paper_key: str


def limit_text(seconds: float | None) -> str:
    """`10 s`, `10 min`, `48 h`."""
    if seconds is None:
        return ""
    if seconds % 3600 == 0:
        return f"{seconds / 3600:g} h"
    return f"{seconds / 60:g} min" if seconds % 60 == 0 else f"{seconds:g} s"


def main_results(evaluation: Evaluation) -> Table | Absent:
    return wide(
        evaluation,
        "main_results",
        "Completion and plan length",
        "Completion and mean plan length (± standard error) over the problems a method solved.",
        COMPLETION_LENGTH,
        column_groups(evaluation, MAIN),
        evaluation.main_variants(),
        f"no runs on the problem set {MAIN!r}",
    )


def results_optimal(evaluation: Evaluation) -> Table | Absent:
    keep = [group for group in column_groups(evaluation, MAIN) if proven_in(evaluation, group)]
    return wide(
        evaluation,
        "results_optimal",
        "Problems with a proven optimum",
        "Plans of optimal length, and mean length with the number solved, where the optimum was proved.",
        OPTIMAL_LENGTH,
        keep,
        evaluation.main_variants() if keep else [],
        f"no proven optima for the problem set {MAIN!r}",
    )


def proven_in(evaluation: Evaluation, group: ColumnGroup) -> bool:
    return any(
        run.fingerprint in evaluation.optima
        for run in evaluation.runs
        if run.set == group.set and run.domain == group.domain
    )


def results_subset(evaluation: Evaluation) -> Table | Absent:
    return wide(
        evaluation,
        "results_subset",
        "Problems the teacher failed on",
        "Completion and mean plan length (± standard error) on problems that LAMA-first did not solve in its time.",
        COMPLETION_LENGTH,
        column_groups(evaluation, "failed"),
        evaluation.variants("failed", lambda label: True),
        "no runs on the problem set 'failed' (problems the teacher failed on)",
    )


def ablations(evaluation: Evaluation) -> Table | Absent:
    whole = WHOLE, in_papers_profile(WHOLE)
    found = evaluation.variants(MAIN, lambda label: label in (*whole, *ABLATIONS))
    ablated = {variant.limit for variant in found if variant.label not in whole}
    return wide(
        evaluation,
        "ablations",
        "Ablations",
        "OCLGen (uniform) with one component changed at a time: the paper's, then our own.",
        OPTIMAL_COMPLETION_LENGTH,
        column_groups(evaluation, MAIN),
        [variant for variant in found if variant.limit in ablated],
        f"no runs labelled {', '.join(ABLATIONS)}",
    )


def results_saw_vs_act(evaluation: Evaluation) -> Table | Absent:
    return wide(
        evaluation,
        "results_saw_vs_act",
        "Training with and without action compilation",
        "Best-of-N with N = 10 on policies trained with and without intermediate states as starting points.",
        COMPLETION_LENGTH,
        column_groups(evaluation, MAIN),
        evaluation.variants(MAIN, lambda label: label in COMPILATION),
        f"no runs labelled {', '.join(COMPILATION)}",
    )


def number_of_rollouts(evaluation: Evaluation) -> Table | Absent:
    caption = (
        "Candidate plans that Best-of-N sampled within its time limit, and the rollouts that they are chained from "
        "(mean ± standard deviation)."
    )
    runs = [run for run in evaluation.runs if run.set == MAIN and base_label(run.label) == "best-of-n"]
    if ended := sum(run.ending == SHORT_ENOUGH for run in runs):
        caption += f" {ended} of {len(runs)} runs ended early, at a plan of a known best length."
    return wide(
        evaluation,
        "number_of_rollout_time_limit_best_of_N",
        "Plans sampled by Best-of-N",
        caption,
        SAMPLED,
        column_groups(evaluation, MAIN),
        evaluation.variants(MAIN, lambda label: base_label(label) == "best-of-n"),
        "no runs labelled best-of-n",
    )


def improvement_final(evaluation: Evaluation) -> Table | Absent:
    return wide(
        evaluation,
        "improvement_final",
        "Search after self-improvement",
        "Test-time search with the models before (0 loops) and after self-improvement.",
        OPTIMAL_LENGTHS,
        column_groups(evaluation, MAIN),
        evaluation.variants(MAIN, is_loop_search),
        "no runs labelled oclgen-loop3, mcts-loop3",
    )


def generalisation(evaluation: Evaluation) -> Table | Absent:
    titles = {"interpolate": "11, 12, 18, 19 blocks", "extrapolate": "26 to 40 blocks"}
    groups = [
        ColumnGroup(name, domain, title, name) for name, title in titles.items() for domain in evaluation.domains(name)
    ]
    found = {variant for name in titles for variant in evaluation.variants(name, lambda label: True)}
    order = PAPER.ordered({variant.label for variant in found})
    return wide(
        evaluation,
        "generalisation",
        "Object counts that training left out",
        "Trained on 3 to 25 blocks without 11, 12, 18 and 19: those counts (interpolation) and larger ones.",
        COMPLETION_ONLY,
        groups,
        sorted(found, key=lambda variant: (order.index(variant.label), variant.limit)),
        "no runs on the problem sets 'interpolate' and 'extrapolate'",
    )


def column_groups(evaluation: Evaluation, problem_set: str) -> list[ColumnGroup]:
    domains = evaluation.domains(problem_set)
    return [ColumnGroup(problem_set, domain, PAPER.name(domain), domain) for domain in domains]


def wide(
    evaluation: Evaluation,
    key: str,
    title: str,
    caption: str,
    block: Block,
    groups: Sequence[ColumnGroup],
    variants: Sequence[Variant],
    lacking: str,
) -> Table | Absent:
    """A row per entrant, a block of columns per place, all over the same problems; the paper's rows follow the last of
    ours of their method."""
    if not variants or not groups:
        return Absent(key, title, lacking)
    columns = [replace(column, group=group.title) for group in groups for column in block.columns]
    found = [evaluation.fair_results(group.set, group.domain, variants) for group in groups]
    bases = [base_label(variant.label) for variant in variants]
    rows: list[Row] = []
    for index, variant in enumerate(variants):
        first = index > 0 and bases[index - 1] != bases[index]
        rows.append(our_row(evaluation, block, [each[variant] for each in found], variant, first))
        if bases[index] not in bases[index + 1 :]:
            rows += [paper_row(block, groups, row) for row in PAPER.rows(key, bases[index])]
    counted = f"{caption} Problems: {counts_text(evaluation, groups, found)}."
    return Table(key, title, counted, (Column("Method"), Column("Limit"), *columns), tuple(rows))


def our_row(
    evaluation: Evaluation, block: Block, found: Sequence[Mapping[str, Result]], variant: Variant, rule: bool
) -> Row:
    cells: list[Cell] = []
    for results in found:
        cells += block.ours(evaluation, list(results.values())) if results else blank(block.columns)
    return Row((text_cell(PAPER.name(variant.label)), text_cell(limit_text(variant.limit)), *cells), rule=rule)


def paper_row(block: Block, groups: Sequence[ColumnGroup], row: PaperRow) -> Row:
    cells: list[Cell] = []
    for group in groups:
        figures = row.figures.get(group.paper_key)
        cells += block.paper(*figures) if figures else blank(block.columns)
    return Row((text_cell("paper"), text_cell(limit_text(row.limit)), *cells), source="paper")


def counts_text(
    evaluation: Evaluation, groups: Sequence[ColumnGroup], found: Sequence[Mapping[Variant, Mapping[str, Result]]]
) -> str:
    """`Blocksworld 25, Sokoban 24 (1 more by some methods only)`."""
    parts = []
    for group, results in zip(groups, found, strict=True):
        shown = len({key for each in results.values() for key in each})
        begun = {key for each in results for key in evaluation.results(group.set, group.domain, each)}
        more = f" ({len(begun) - shown} more by some methods only)" if len(begun) > shown else ""
        parts.append(f"{group.title} {shown}{more}")
    return ", ".join(parts)
