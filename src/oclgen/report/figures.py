"""The pictures: length, completion and quality over time, heuristic errors, cost distributions, training curves.

Each picture is drawn once and saved as PNG (white, for Markdown and LaTeX) and as SVG (transparent with grey axes,
so that it sits on a light and on a dark page). Paper: fig:length_over_time, fig:completion_rate_over_time,
fig:heuristic_cost_error_dist_*, fig:heuristic_cost_dist_*.
"""

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from oclgen.bench.record import CurveRecord, EstimateRecord, Trace
from oclgen.classical.planners import OPTIMAL, PLANNERS
from oclgen.report.evaluation import MAIN, TEACHER, Evaluation, Result
from oclgen.report.paper import PAPER
from oclgen.report.statistics import (
    Array,
    Band,
    completion_over_time,
    length_over_time,
    quality_over_time,
    time_grid,
)
from oclgen.report.tables.accuracy import with_teacher, with_truth
from oclgen.report.tables.table import Absent

GREY = "#7d8590"
COLOURS = ("#d55e00", "#e69f00", "#0072b2", "#56b4e9", "#009e73", "#b5a200", "#cc79a7", "#8c6bb1", "#a0785a", "#4d9221")
EXAMPLES = 3
STYLE = {
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "text.color": GREY,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.titlecolor": GREY,
    "axes.titleweight": "bold",
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GREY,
    "grid.alpha": 0.18,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "legend.frameon": False,
    "svg.hashsalt": "oclgen",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn figure with its title and caption."""

    key: str
    title: str
    caption: str
    figure: Figure

    def png(self) -> bytes:
        return self._saved("png", dpi=140, facecolor="white", metadata={"Software": None})

    def svg(self) -> bytes:
        return self._saved("svg", transparent=True, metadata={"Date": None, "Creator": None})

    def _saved(self, kind: str, **options: object) -> bytes:
        out = io.BytesIO()
        with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]
            self.figure.savefig(out, format=kind, **options)  # type: ignore[arg-type]
        return out.getvalue()


@contextmanager
def panels(count: int, entries: int, columns: int = 2, height: float = 2.9) -> Iterator[tuple[Figure, list[Axes]]]:
    """A grid of `count` axes above one legend with room for `entries`."""
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    width = 9.2 if columns > 1 else 6.4
    legend = 0.2 * math.ceil(entries / legend_columns(width)) + 0.1
    tall = height * rows + legend
    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(width, tall))
        figure.subplots_adjust(
            left=0.62 / width,
            right=1 - 0.15 / width,
            top=1 - 0.3 / tall,
            bottom=(legend + 0.45) / tall,
            wspace=0.7 / (width / columns - 0.7),
            hspace=0.85 / (height - 0.85),
        )
        axes = [figure.add_subplot(rows, columns, index + 1) for index in range(count)]
        yield figure, axes
        names = {name: line for ax in axes for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
        if names:
            ncols = min(legend_columns(width), len(names))
            figure.legend(names.values(), names.keys(), loc="lower center", ncols=ncols, borderaxespad=0.3)


def legend_columns(width: float) -> int:
    return 4 if width > 8 else 3


def length_picture(evaluation: Evaluation) -> Picture | Absent:
    return over_time(
        evaluation,
        "length_over_time",
        "Plan length over time",
        "Mean length of the plans known at each second, over the problems solved by then, with 95 % confidence bands. "
        "Early means rise as harder problems come in.",
        "mean length",
        lambda problems, grid: length_over_time(traces(problems), grid),
    )


def completion_picture(evaluation: Evaluation) -> Picture | Absent:
    return over_time(
        evaluation,
        "completion_over_time",
        "Completion over time",
        "Share of problems solved at each second, with 95 % confidence bands.",
        "solved",
        lambda problems, grid: completion_over_time(traces(problems), grid),
    )


def quality_picture(evaluation: Evaluation) -> Picture | Absent:
    def quality(problems: Sequence[Result], grid: Array) -> Band:
        best = [evaluation.best_known.get(problem.fingerprint, 0) for problem in problems]
        return quality_over_time(traces(problems), best, grid)

    return over_time(
        evaluation,
        "quality_over_time",
        "Quality over time",
        "Best known length divided by the length known at each second, averaged over all problems with unsolved ones "
        "counting 0: completion and length in one curve, free of the bias of means over solved problems.",
        "best / length",
        quality,
    )


def traces(problems: Sequence[Result]) -> list[list[Trace]]:
    """For each problem those of its seeds. A broken run counts as unsolved, whatever plans it found."""
    return [[run.trace if run.outcome == "solved" else () for run in problem.runs] for problem in problems]


def over_time(
    evaluation: Evaluation,
    key: str,
    title: str,
    caption: str,
    axis: str,
    curve: Callable[[Sequence[Result], Array], Band],
) -> Picture | Absent:
    """One panel per domain, one curve per method, read off the method's longest runs."""
    domains = evaluation.domains(MAIN)
    variants = [variant for variant in evaluation.main_variants() if variant.label not in OPTIMAL]
    labels = list(dict.fromkeys(variant.label for variant in variants))
    if not labels:
        return Absent(key, title, "no runs on the main problems")
    with panels(len(domains), len(labels)) as (figure, axes):
        for ax, domain in zip(axes, domains, strict=True):
            longest = [found for label in labels if (found := evaluation.longest(MAIN, domain, label)) is not None]
            for variant, results in evaluation.fair_results(MAIN, domain, longest).items():
                band = curve(list(results.values()), time_grid(variant.limit))
                colour = COLOURS[labels.index(variant.label) % len(COLOURS)]
                draw_band(ax, band, PAPER.name(variant.label), colour, variant.label in PLANNERS)
            seconds = 0.1, max((e.limit for e in variants if e.label != TEACHER), default=variants[0].limit)
            ax.set(title=PAPER.name(domain), xscale="log", xlabel="seconds", ylabel=axis, xlim=seconds)
            plain_ticks(ax.xaxis)
    return Picture(key, title, caption, figure)


def draw_band(ax: Axes, band: Band, name: str, colour: str, dashed: bool) -> None:
    ax.plot(band.seconds, band.middle, label=name, color=colour, linestyle="--" if dashed else "-", linewidth=1.7)
    ax.fill_between(band.seconds, band.low, band.high, color=colour, alpha=0.10, linewidth=0)


def plain_ticks(axis: Axis) -> None:
    """A logarithmic axis with ordinary numbers on it."""
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=8))
    axis.set_major_formatter(lambda value, position: f"{value:g}")
    axis.set_minor_locator(NullLocator())


def error_picture(evaluation: Evaluation) -> Picture | Absent:
    """Histograms of absolute errors of the mode against the teacher's lengths, or else against proven optima."""
    key, title = "heuristic_errors", "Errors of the heuristic"
    found = [
        (domain, pairs, name)
        for domain, label in first_models(evaluation)
        for pairs, name in (
            (with_teacher(evaluation, domain, label), "teacher's length"),
            (with_truth(evaluation, domain, label), "optimum"),
        )
        if pairs
    ]
    if not found:
        return Absent(key, title, "no heuristic estimates for problems with a known length")
    with panels(len(found), 2, height=2.5) as (figure, axes):
        for ax, (domain, pairs, name) in zip(axes, found, strict=True):
            draw_errors(ax, pairs)
            ax.set(title=PAPER.name(domain), xlabel=f"|estimate − {name}|", ylabel="problems")
    caption = (
        "Absolute errors of the estimate for initial states against the length of the teacher's plan (how well the "
        "model fits its data) and against proven optima (how well it knows the truth)."
    )
    return Picture(key, title, caption, figure)


def draw_errors(ax: Axes, pairs: Sequence[tuple[EstimateRecord, int]]) -> None:
    errors = [
        [abs(estimate.mode - truth) for estimate, truth in pairs],
        [abs(estimate.estimate - truth) for estimate, truth in pairs],
    ]
    bins = np.linspace(0, max(1.0, *(max(part) for part in errors)), 25)
    ax.hist(errors, bins=list(bins), label=["mode", "percentile"], color=[COLOURS[2], COLOURS[0]])


def distribution_picture(evaluation: Evaluation) -> Picture | Absent:
    """A few whole distributions per domain and model: small, middle and large problems."""
    key, title = "cost_distributions", "Examples of predicted cost distributions"
    chosen = [example for domain, label in first_models(evaluation) for example in examples(evaluation, domain, label)]
    if not chosen:
        return Absent(key, title, "no heuristic estimates")
    with panels(len(chosen), 4, columns=EXAMPLES, height=2.1) as (figure, axes):
        for ax, estimate in zip(axes, chosen, strict=True):
            draw_distribution(ax, estimate, evaluation)
    caption = "The heuristic's distribution over remaining plan lengths for initial states of three sizes per domain."
    return Picture(key, title, caption, figure)


def first_models(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Each domain with its first label in the paper's order: the model before self-improvement."""
    domains = PAPER.ordered({estimate.domain for estimate in evaluation.estimates})
    return [
        (domain, PAPER.ordered({each.label for each in evaluation.estimates if each.domain == domain})[0])
        for domain in domains
    ]


def examples(evaluation: Evaluation, domain: str, label: str) -> list[EstimateRecord]:
    """Evenly spaced by predicted cost."""
    found = [e for e in evaluation.estimates if e.domain == domain and e.label == label]
    found.sort(key=lambda estimate: (estimate.mode, estimate.problem))
    positions = np.linspace(0, len(found) - 1, min(EXAMPLES + 2, len(found)))
    return [found[round(position)] for position in positions][1:-1] if len(found) > EXAMPLES else found


def draw_distribution(ax: Axes, estimate: EstimateRecord, evaluation: Evaluation) -> None:
    costs = [cost for cost, _ in estimate.distribution]
    ax.bar(costs, [share for _, share in estimate.distribution], color=COLOURS[3], width=1.0, alpha=0.8)
    lines = {
        "mode": (estimate.mode, COLOURS[2], "-"),
        "percentile": (estimate.estimate, COLOURS[0], "-"),
        "optimum": (evaluation.optima.get(estimate.fingerprint), COLOURS[4], "--"),
        "teacher": (evaluation.teacher_lengths.get(estimate.fingerprint), COLOURS[6], ":"),
    }
    for name, (value, colour, style) in lines.items():
        if value is not None:
            ax.axvline(value, label=name, color=colour, linestyle=style, linewidth=1.5)
    ax.set(title=PAPER.name(estimate.domain), xlabel="remaining length")


def training_picture(evaluation: Evaluation) -> Picture | Absent:
    key, title = "training_curves", "Training curves"
    curves = sorted(
        (curve for curve in evaluation.curves if any(curve.series.values())), key=lambda c: (c.domain, c.label)
    )
    if not curves:
        return Absent(key, title, "no training curves among the records")
    with panels(len(curves), 2, height=2.5) as (figure, axes):
        for ax, curve in zip(axes, curves, strict=True):
            draw_curve(ax, curve)
    return Picture(key, title, "Loss on training and validation data over training steps.", figure)


def draw_curve(ax: Axes, curve: CurveRecord) -> None:
    for index, (name, points) in enumerate(sorted(curve.series.items())):
        steps, values = [step for step, _ in points], [value for _, value in points]
        marker = "o" if len(points) < 40 else None
        ax.plot(steps, values, label=name, color=COLOURS[(0, 2, 4)[index % 3]], marker=marker, markersize=2.5)
    ax.set(title=f"{PAPER.name(curve.domain)} – {curve.label}", xlabel="step", ylabel="loss", yscale="log")
    plain_ticks(ax.yaxis)
