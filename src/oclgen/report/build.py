"""From records to a report: Markdown, LaTeX, CSV, PNG, SVG, one HTML page, lab's properties.

    OUT/index.html  OUT/report.md  OUT/taskwise.md  OUT/report.tex  OUT/tables/*.csv  OUT/figures/*.png|svg
    OUT/properties

Runs nothing and reads only records. Tables and figures that the records do not allow are listed with the reason.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oclgen.bench.record import RunRecord
from oclgen.bench.record_file import read_records
from oclgen.report import figures
from oclgen.report.evaluation import Evaluation
from oclgen.report.figures import Picture
from oclgen.report.tables import accuracy, against_lama, by_domain, comparisons, effort, loops, repetition, results
from oclgen.report.tables.results import limit_text
from oclgen.report.tables.table import Absent, Table

Item = Table | Picture | Absent
MAX_LISTED = 20
"""Broken runs that are listed one by one; the rest is counted."""

SECTIONS: dict[str, tuple[Callable[[Evaluation], Item], ...]] = {
    "Main results": (
        results.main_results,
        against_lama.ratio_to_lama,
        against_lama.ratio_by_size,
        repetition.first_plans,
        comparisons.commonly_solved,
        comparisons.statistical_comparison,
        comparisons.ipc_scores,
        repetition.seeds,
    ),
    "Domain by domain": (by_domain.easy, by_domain.larger),
    "Over time": (figures.length_picture, figures.completion_picture, figures.quality_picture),
    "Optimality": (results.results_optimal,),
    "Beyond the teacher and the training range": (
        results.results_subset,
        results.generalisation,
        against_lama.other_sets,
    ),
    "Ablations": (
        results.ablations,
        comparisons.ablations_paired,
        effort.effort,
        results.results_saw_vs_act,
        results.number_of_rollouts,
    ),
    "Self-improvement": (
        loops.improvement_loop,
        loops.loop_picture,
        results.improvement_final,
        comparisons.statistical_comparison_iter3,
        accuracy.mae_comparison,
    ),
    "Heuristic": (accuracy.mae_me_comparison, figures.error_picture, figures.distribution_picture),
    "Training": (figures.training_picture,),
}


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its tables and figures."""

    title: str
    items: tuple[Table | Picture, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a report, in order."""

    warnings: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    taskwise: Table | None
    absent: tuple[Absent, ...]

    def tables(self) -> list[Table]:
        found = [item for section in self.sections for item in section.items if isinstance(item, Table)]
        return [*found, self.taskwise] if self.taskwise else found

    def pictures(self) -> list[Picture]:
        return [item for section in self.sections for item in section.items if isinstance(item, Picture)]


def read(folders: Sequence[Path]) -> Evaluation:
    return Evaluation(record for folder in folders for record in read_records(folder))


def make(evaluation: Evaluation) -> Report:
    made = {title: [maker(evaluation) for maker in makers] for title, makers in SECTIONS.items()}
    taskwise = comparisons.taskwise(evaluation)
    sections = [
        Section(title, tuple(item for item in items if not isinstance(item, Absent))) for title, items in made.items()
    ]
    everything = [*(item for items in made.values() for item in items), taskwise]
    return Report(
        warnings=tuple(warnings(evaluation)),
        facts=tuple(facts(evaluation)),
        sections=tuple(section for section in sections if section.items),
        taskwise=None if isinstance(taskwise, Absent) else taskwise,
        absent=tuple(item for item in everything if isinstance(item, Absent)),
    )


def warnings(evaluation: Evaluation) -> list[str]:
    """What a reader must not miss, worst first."""
    lines = []
    if evaluation.impossible:
        lines.append(
            f"{len(evaluation.impossible)} runs contradict others (a plan below the proven optimum, or a wrong proof):"
        )
        lines += [f"{run_text(run)}: length {run.length}, {run.ending}" for run in evaluation.impossible[:MAX_LISTED]]
    if evaluation.broken:
        lines.append(f"{len(evaluation.broken)} of {len(evaluation.runs)} runs are broken and count as unsolved below:")
        lines += [f"{run_text(run)}: {run.error or 'no reason recorded'}" for run in evaluation.broken[:MAX_LISTED]]
        if len(evaluation.broken) > MAX_LISTED:
            lines.append(f"... and {len(evaluation.broken) - MAX_LISTED} more")
    for problem_set, domain, label, limit in evaluation.mixed:
        row = f"{label} ({limit_text(limit)}) on the {problem_set} problems of {domain}"
        lines.append(f"{row} mixes runs with different weights or settings")
    if evaluation.late:
        worst = max(evaluation.late, key=lambda run: (run.seconds or 0.0) / run.time_limit)
        lines.append(
            f"{len(evaluation.late)} runs went past their limit by more than 5 % and half a second; the worst: "
            f"{run_text(worst)}, {worst.seconds:.1f} s"
        )
    if evaluation.disturbed:
        worst = max(evaluation.disturbed, key=lambda run: run.lost_seconds or 0.0)
        lines.append(
            f"{len(evaluation.disturbed)} of {evaluation.watched} runs lost more than 2 % of their time to other "
            f"processes; the worst: {run_text(worst)}, {worst.lost_seconds:.1f} s lost"
        )
    return lines


def run_text(run: RunRecord) -> str:
    return f"{run.label} ({limit_text(run.time_limit)}, seed {run.seed}) on {run.domain}/{run.problem}"


def facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    outcomes = Counter(run.outcome for run in evaluation.runs)
    hours = sum((run.seconds or 0.0) * (run.cores or 1) for run in evaluation.runs) / 3600
    listed = ", ".join(f"{outcomes[name]} {name}" for name in ("solved", "unsolved", "broken"))
    return [
        ("Runs", f"{len(evaluation.runs)} ({listed}), {hours:.1f} core hours"),
        ("Proven optima", str(len(evaluation.optima))),
        ("Heuristic estimates", str(len(evaluation.estimates))),
        ("Machine", joined(run.machine for run in evaluation.runs)),
        ("Revision", joined(run.revision for run in evaluation.runs)),
    ]


def joined(values: object) -> str:
    known = sorted({str(value) for value in values if value})  # type: ignore[attr-defined]
    return "; ".join(known) or "unknown"
