"""Records arranged for the tables: which method, under which limit, did what on which problem.

Runs with several seeds on one problem become one `Result`, so that problems weigh the same whatever the number of
seeds, and paired statistics pair problems. Broken runs count as unsolved; the report also lists them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from oclgen.bench.record import (
    BoundRecord,
    CurveRecord,
    EstimateRecord,
    LoopRecord,
    OptimumRecord,
    Record,
    RunRecord,
)
from oclgen.classical.planners import OPTIMAL
from oclgen.report.paper import PAPER, base_label, in_papers_profile

TEACHER = "lama-first"
MAIN = "main"
PAPER_ABLATIONS = "oclgen-no-depth", "oclgen-no-adaptive", "oclgen-mode"
OUR_ABLATIONS = (
    "oclgen-percentile",
    "oclgen-no-chains",
    "oclgen-no-following",
    "oclgen-no-shortcuts",
    "oclgen-no-elimination",
    "oclgen-no-pruning",
    "oclgen-threads",
)
ABLATIONS = (*PAPER_ABLATIONS, *map(in_papers_profile, PAPER_ABLATIONS), *OUR_ABLATIONS)
"""OCLGen with one component changed."""
SIDE_LABELS = (*ABLATIONS, "compiled", "not-compiled")
"""Labels with their own tables; the main table leaves them out, as it does all `...-loopN`."""
REFERENCES = ("oclgen-uniform", "oclgen", "oclgen-scan")


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """A method variant under a time limit: a row of most tables."""

    label: str
    limit: float


@dataclass(frozen=True, slots=True)
class Result:
    """A method's result on a problem: mean length over the seeds that solved it, None if none did; and the length that
    the first seed has, for comparisons with methods that had fewer seeds."""

    fingerprint: str
    solved: float
    length: float | None
    first_length: float | None
    runs: tuple[RunRecord, ...]

    @classmethod
    def of(cls, fingerprint: str, runs: Sequence[RunRecord], length: Callable[[RunRecord], int | None]) -> "Result":
        lengths = [length(run) if run.outcome == "solved" else None for run in sorted(runs, key=lambda run: run.seed)]
        known = [found for found in lengths if found is not None]
        mean = sum(known) / len(known) if known else None
        return cls(fingerprint, len(known) / len(runs), mean, lengths[0], tuple(runs))


class Evaluation:
    """All records of a report, with the views that the tables need. A later record with the same label on the same
    problem (from another model, say) replaces an earlier one."""

    def __init__(self, records: Iterable[Record]) -> None:
        runs: dict[tuple[object, ...], RunRecord] = {}
        self.proven: dict[str, int] = {}
        self.published: dict[str, int] = {}
        estimates: dict[tuple[object, ...], EstimateRecord] = {}
        curves: dict[tuple[str, str], CurveRecord] = {}
        loops: dict[tuple[str, str], LoopRecord] = {}
        for record in records:
            if isinstance(record, RunRecord):
                group = record.set, record.domain, record.label, record.time_limit
                runs[*group, record.fingerprint, record.seed] = record
            elif isinstance(record, OptimumRecord):
                self.proven[record.fingerprint] = record.length
            elif isinstance(record, BoundRecord):
                self.published[record.fingerprint] = record.length
            elif isinstance(record, EstimateRecord):
                estimates[record.set, record.domain, record.label, record.fingerprint] = record
            elif isinstance(record, LoopRecord):
                loops[record.domain, record.label] = record
            else:
                curves[record.domain, record.label] = record
        self.runs = list(runs.values())
        self.estimates = list(estimates.values())
        self.curves = list(curves.values())
        self.loops = list(loops.values())
        self._groups: dict[tuple[str, str, str, float], list[RunRecord]] = defaultdict(list)
        for run in self.runs:
            self._groups[run.set, run.domain, run.label, run.time_limit].append(run)

    @cached_property
    def optima(self) -> dict[str, int]:
        """Proven optimal lengths by fingerprint: from optima records and provers that ended by themselves."""
        found = {run.fingerprint: run.length for run in self.runs if run.proves and run.length is not None}
        return {**found, **self.proven}

    @cached_property
    def best_known(self) -> dict[str, int]:
        """The shortest length that any run found or proved, or that others published, by fingerprint (the C* of the
        scores)."""
        best = {**self.published, **self.optima}
        for run in self.runs:
            if run.outcome == "solved" and run.length is not None:
                best[run.fingerprint] = min(run.length, best.get(run.fingerprint, run.length))
        return best

    @cached_property
    def broken(self) -> list[RunRecord]:
        return [run for run in self.runs if run.outcome == "broken"]

    @cached_property
    def impossible(self) -> list[RunRecord]:
        """Runs that contradict others: a plan below the proven optimum, or a proof that a solved problem has none."""
        return [
            run
            for run in self.runs
            if (run.outcome == "solved" and (run.length or 0) < self.optima.get(run.fingerprint, 0))
            or (run.outcome == "unsolved" and run.ending == "exhausted" and run.fingerprint in self.best_known)
        ]

    @cached_property
    def teacher_lengths(self) -> dict[str, int]:
        """The teacher's length by fingerprint: from the data set, or from a run of LAMA-first."""
        lengths = {run.fingerprint: run.length for run in self.runs if run.method == TEACHER and run.length is not None}
        given: list[RunRecord | EstimateRecord] = [*self.runs, *self.estimates]
        return lengths | {
            record.fingerprint: record.teacher_length for record in given if record.teacher_length is not None
        }

    @cached_property
    def mixed(self) -> list[tuple[str, str, str, float]]:
        """Set, domain, label and limit of runs that should be of one kind, but were made with different weights or
        settings."""

        def kinds(runs: Sequence[RunRecord]) -> set[tuple[object, ...]]:
            return {(run.model_digest, run.profile, run.asked_settings) for run in runs if run.profile is not None}

        return [group for group, runs in self._groups.items() if len(kinds(runs)) > 1]

    @cached_property
    def late(self) -> list[RunRecord]:
        """Runs that took clearly longer than their limit."""
        return [run for run in self.runs if run.seconds is not None and run.seconds > 1.05 * run.time_limit + 0.5]

    @cached_property
    def disturbed(self) -> list[RunRecord]:
        """Runs that lost more than 2 % of their time to other processes, as far as their records say."""
        return [run for run in self.runs if run.disturbed]

    @property
    def watched(self) -> int:
        """How many runs have a record that says whether they were disturbed."""
        return sum(run.disturbed is not None for run in self.runs)

    def domains(self, *sets: str) -> list[str]:
        return PAPER.ordered({run.domain for run in self.runs if run.set in sets})

    def variants(self, problem_set: str, wanted: Callable[[str], bool]) -> list[Variant]:
        """Rows in the paper's order, then by limit."""
        found = {
            Variant(label, limit) for group, _, label, limit in self._groups if group == problem_set and wanted(label)
        }
        order = {label: index for index, label in enumerate(PAPER.ordered({variant.label for variant in found}))}
        return sorted(found, key=lambda variant: (order[variant.label], variant.limit))

    def main_variants(self) -> list[Variant]:
        return self.variants(MAIN, is_main_label)

    @cached_property
    def reference(self) -> str | None:
        """Our label that the others are compared with on the main problems."""
        return next((label for label in REFERENCES if label in self._main_labels), None)

    def counterpart(self, label: str, ours: str) -> str:
        """What a method is compared with: ours, in the paper's profile for others in that profile."""
        same = in_papers_profile(ours)
        other_in_profile = base_label(label) not in (label, ours)
        return same if other_in_profile and same in self._main_labels else ours

    @cached_property
    def _main_labels(self) -> set[str]:
        return {run.label for run in self.runs if run.set == MAIN}

    def runs_of(self, problem_set: str, domain: str, variant: Variant) -> list[RunRecord]:
        return self._groups.get((problem_set, domain, variant.label, variant.limit), [])

    def results(
        self,
        problem_set: str,
        domain: str,
        variant: Variant,
        length: Callable[[RunRecord], int | None] = lambda run: run.length,
    ) -> dict[str, Result]:
        """By fingerprint; `length` reads a run (its final length, or the one at some second)."""
        by_problem: dict[str, list[RunRecord]] = defaultdict(list)
        for run in self.runs_of(problem_set, domain, variant):
            by_problem[run.fingerprint].append(run)
        return {key: Result.of(key, runs, length) for key, runs in sorted(by_problem.items())}

    def fair_results(
        self,
        problem_set: str,
        domain: str,
        variants: Iterable[Variant],
        length: Callable[[RunRecord], int | None] = lambda run: run.length,
    ) -> dict[Variant, dict[str, Result]]:
        """Of each variant that ran in the domain, on the problems that all of these have finished, so that a benchmark
        that is under way compares methods on the same problems."""
        results = {variant: self.results(problem_set, domain, variant, length) for variant in variants}
        finished = [with_all_seeds(each) for variant, each in results.items() if each and variant.label not in OPTIMAL]
        if not finished:
            return results
        common = set.intersection(*finished)
        return {
            variant: {key: result for key, result in each.items() if key in common} for variant, each in results.items()
        }

    def longest(self, problem_set: str, domain: str, label: str) -> Variant | None:
        """The label under its largest limit; its traces cover all smaller limits."""
        limits = [limit for group in self._groups if group[:3] == (problem_set, domain, label) for limit in group[3:]]
        return Variant(label, max(limits)) if limits else None


def with_all_seeds(results: dict[str, Result]) -> set[str]:
    """The problems that as many seeds have run on as on any."""
    seeds = max(len(result.runs) for result in results.values())
    return {key for key, result in results.items() if len(result.runs) == seeds}


def is_main_label(label: str) -> bool:
    return label not in SIDE_LABELS and "-loop" not in label


def is_loop_search(label: str) -> bool:
    """Whether a label is a search with the models of a self-improvement loop (Best-of-N with them is no search)."""
    return "-loop" in label and not label.startswith("best-of-n-")


def paired_lengths(first: dict[str, Result], second: dict[str, Result]) -> tuple[list[float], list[float]]:
    """Lengths on the problems that both solved with their first seed, in the same order."""
    pairs = [
        (one.first_length, other.first_length)
        for key, one in first.items()
        if (other := second.get(key)) is not None and one.first_length is not None and other.first_length is not None
    ]
    return [one for one, _ in pairs], [other for _, other in pairs]
