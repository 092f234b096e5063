"""The paper's result tables: completion, lengths and optimal counts per method and domain.

Paper: tab:main_results, tab:results_optimal, tab:results_subset, tab:ablations, tab:results_saw_vs_act,
tab:number_of_rollout_time_limit_best_of_N, tab:improvement_final, and the generalisation experiment of the appendix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from oclgen.report.blocks import (
    COMPLETION_LENGTH,
    COMPLETION_ONLY,
    OPTIMAL_COMPLETION_LENGTH,
    OPTIMAL_LENGTH,
    ROLLOUTS,
    Block,
)
from oclgen.report.evaluation import MAIN, Entrant, Evaluation, is_loop_search
from oclgen.report.paper import PAPER, PaperRow
from oclgen.report.table import Absent, Cell, Column, Row, Table, blank, text_cell

ABLATIONS = ("oclgen-uniform", "oclgen-no-depth", "oclgen-no-adaptive", "oclgen-mode")
COMPILATION = ("not-compiled", "compiled")


@dataclass(frozen=True, slots=True)
class Place:
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
        places(evaluation, MAIN),
        evaluation.main_entrants(),
        f"no runs on the problem set {MAIN!r}",
    )


def results_optimal(evaluation: Evaluation) -> Table | Absent:
    keep = [place for place in places(evaluation, MAIN) if proven_in(evaluation, place)]
    return wide(
        evaluation,
        "results_optimal",
        "Problems with a proven optimum",
        "Plans of optimal length, and mean length with the number solved, where the optimum was proved.",
        OPTIMAL_LENGTH,
        keep,
        evaluation.main_entrants() if keep else [],
        f"no proven optima for the problem set {MAIN!r}",
    )


def proven_in(evaluation: Evaluation, place: Place) -> bool:
    return any(
        run.fingerprint in evaluation.optima
        for run in evaluation.runs
        if run.set == place.set and run.domain == place.domain
    )


def results_subset(evaluation: Evaluation) -> Table | Absent:
    return wide(
        evaluation,
        "results_subset",
        "Problems the teacher failed on",
        "Completion and mean plan length (± standard error) on problems that LAMA-first did not solve in its time.",
        COMPLETION_LENGTH,
        places(evaluation, "failed"),
        evaluation.entrants("failed", lambda label: True),
        "no runs on the problem set 'failed' (problems the teacher failed on)",
    )


def ablations(evaluation: Evaluation) -> Table | Absent:
    found = evaluation.entrants(MAIN, lambda label: label in ABLATIONS)
    ablated = {entrant.limit for entrant in found if entrant.label != ABLATIONS[0]}
    return wide(
        evaluation,
        "ablations",
        "Ablations",
        "OCLGen (uniform) with one component removed at a time.",
        OPTIMAL_COMPLETION_LENGTH,
        places(evaluation, MAIN),
        [entrant for entrant in found if entrant.limit in ablated],
        f"no runs labelled {', '.join(ABLATIONS[1:])}",
    )


def results_saw_vs_act(evaluation: Evaluation) -> Table | Absent:
    return wide(
        evaluation,
        "results_saw_vs_act",
        "Training with and without action compilation",
        "Best-of-N with N = 10 on policies trained with and without intermediate states as starting points.",
        COMPLETION_LENGTH,
        places(evaluation, MAIN),
        evaluation.entrants(MAIN, lambda label: label in COMPILATION),
        f"no runs labelled {', '.join(COMPILATION)}",
    )


def number_of_rollouts(evaluation: Evaluation) -> Table | Absent:
    return wide(
        evaluation,
        "number_of_rollouts",
        "Plans sampled by Best-of-N",
        "Candidate plans that Best-of-N sampled within its time limit (mean ± standard deviation).",
        ROLLOUTS,
        places(evaluation, MAIN),
        evaluation.entrants(MAIN, lambda label: label == "best-of-n"),
        "no runs labelled best-of-n",
    )


def improvement_final(evaluation: Evaluation) -> Table | Absent:
    return wide(
        evaluation,
        "improvement_final",
        "Search after self-improvement",
        "Test-time search with the models before (0 loops) and after self-improvement.",
        OPTIMAL_COMPLETION_LENGTH,
        places(evaluation, MAIN),
        evaluation.entrants(MAIN, is_loop_search),
        "no runs labelled oclgen-loop3, mcts-loop3",
    )


def generalisation(evaluation: Evaluation) -> Table | Absent:
    titles = {"interpolate": "11, 12, 18, 19 blocks", "extrapolate": "26 to 40 blocks"}
    spots = [Place(name, domain, title, name) for name, title in titles.items() for domain in evaluation.domains(name)]
    found = {entrant for name in titles for entrant in evaluation.entrants(name, lambda label: True)}
    order = PAPER.ordered({entrant.label for entrant in found})
    return wide(
        evaluation,
        "generalisation",
        "Object counts that training left out",
        "Trained on 3 to 25 blocks without 11, 12, 18 and 19: those counts (interpolation) and larger ones.",
        COMPLETION_ONLY,
        spots,
        sorted(found, key=lambda entrant: (order.index(entrant.label), entrant.limit)),
        "no runs on the problem sets 'interpolate' and 'extrapolate'",
    )


RESULT_TABLES = (
    main_results,
    results_optimal,
    results_subset,
    ablations,
    results_saw_vs_act,
    number_of_rollouts,
    improvement_final,
    generalisation,
)


def places(evaluation: Evaluation, set: str) -> list[Place]:
    return [Place(set, domain, PAPER.name(domain), domain) for domain in evaluation.domains(set)]


def wide(
    evaluation: Evaluation,
    key: str,
    title: str,
    caption: str,
    block: Block,
    spots: Sequence[Place],
    entrants: Sequence[Entrant],
    lacking: str,
) -> Table | Absent:
    """A row per entrant, a block of columns per place; the paper's rows follow the last of ours with their label."""
    if not entrants or not spots:
        return Absent(key, title, lacking)
    columns = [replace(column, group=spot.title) for spot in spots for column in block.columns]
    rows: list[Row] = []
    for index, entrant in enumerate(entrants):
        first = index == 0 or entrants[index - 1].label != entrant.label
        rows.append(our_row(evaluation, block, spots, entrant, rule=first and index > 0))
        if index + 1 == len(entrants) or entrants[index + 1].label != entrant.label:
            rows += [paper_row(block, spots, row) for row in PAPER.rows(key, entrant.label)]
    counted = f"{caption} Problems: {counts_text(evaluation, spots)}."
    return Table(key, title, counted, (Column("Method"), Column("Limit"), *columns), tuple(rows))


def our_row(evaluation: Evaluation, block: Block, spots: Sequence[Place], entrant: Entrant, rule: bool) -> Row:
    cells: list[Cell] = []
    done = total = 0
    for spot in spots:
        results = list(evaluation.results(spot.set, spot.domain, entrant).values())
        cells += block.ours(evaluation, results) if results else blank(block.columns)
        if results:
            done += len(results)
            total += problem_count(evaluation, spot)
    partial = "" if done == total else f" ({done}/{total} done)"
    name = text_cell(PAPER.name(entrant.label) + partial)
    return Row((name, text_cell(limit_text(entrant.limit)), *cells), rule=rule)


def paper_row(block: Block, spots: Sequence[Place], row: PaperRow) -> Row:
    cells: list[Cell] = []
    for spot in spots:
        figures = row.figures.get(spot.paper_key)
        cells += block.paper(*figures) if figures else blank(block.columns)
    return Row((text_cell("paper"), text_cell(limit_text(row.limit)), *cells), source="paper")


def problem_count(evaluation: Evaluation, spot: Place) -> int:
    return len({run.fingerprint for run in evaluation.runs if run.set == spot.set and run.domain == spot.domain})


def counts_text(evaluation: Evaluation, spots: Sequence[Place]) -> str:
    return ", ".join(f"{spot.title} {problem_count(evaluation, spot)}" for spot in spots)
