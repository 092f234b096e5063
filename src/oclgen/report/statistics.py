"""The numbers behind the tables: means with errors, paired comparisons, competition scores, curves over time.

Functions of plain numbers and traces. Unsolved is `None`, never a large number.
Paper: Appendix "Statistical Analysis"; scores as in the International Planning Competition.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from oclgen.bench.record import Trace

Array = NDArray[np.float64]
Problems = Sequence[Sequence[Trace]]
"""For each problem the traces of its seeds: problems weigh the same whatever the number of seeds."""

CONFIDENCE_Z = 1.959963984540054
"""Two-sided 95 % of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its standard error; the error of a single value is None."""

    count: int
    mean: float
    error: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class Paired:
    """A comparison of two methods on the problems that both solved; negative differences favour the first."""

    count: int
    difference: float
    error: float | None
    cohens_d: float | None
    p_value: float
    shorter: int
    equal: int
    longer: int


@dataclass(frozen=True, slots=True)
class Band:
    """A curve over time with its 95 % confidence band; NaN where nothing is known yet."""

    seconds: Array
    middle: Array
    low: Array
    high: Array


def mean_of(values: Sequence[float]) -> Mean | None:
    """None for no values."""
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) == 1:
        return Mean(1, mean, None, None)
    deviation = float(np.std(values, ddof=1))
    return Mean(len(values), mean, deviation / math.sqrt(len(values)), deviation)


def compare(first: Sequence[float], second: Sequence[float]) -> Paired | None:
    """Paired differences `first - second`: mean and error, Cohen's d (mean / sd), Wilcoxon signed-rank p."""
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    summary = mean_of(list(differences))
    if summary is None:
        return None
    return Paired(
        count=len(differences),
        difference=summary.mean,
        error=summary.error,
        cohens_d=summary.mean / summary.deviation if summary.deviation else None,
        p_value=wilcoxon(differences),
        shorter=int((differences < 0).sum()),
        equal=int((differences == 0).sum()),
        longer=int((differences > 0).sum()),
    )


def wilcoxon(differences: Array) -> float:
    """Two-sided p of the signed-rank test; zero differences carry no sign and are dropped.

    Exact where the ranks allow it (no ties, up to 50 pairs), else the normal approximation with its tie correction.
    """
    signed = differences[differences != 0]
    if not len(signed):
        return 1.0
    exact = len(signed) <= 50 and len(np.unique(np.abs(signed))) == len(signed)
    return float(stats.wilcoxon(signed, method="exact" if exact else "approx").pvalue)


def wilson(successes: Array, trials: int) -> tuple[Array, Array]:
    """The 95 % Wilson score intervals of rates; unlike normal ones they have a width at 0 % and 100 %."""
    if trials == 0:
        return np.full(successes.shape, np.nan), np.full(successes.shape, np.nan)
    rate, square = successes / trials, CONFIDENCE_Z**2 / trials
    centre = (rate + square / 2) / (1 + square)
    half = np.sqrt(rate * (1 - rate) * square + square**2 / 4) / (1 + square)
    return centre - half, centre + half


def satisficing_score(best: float, length: float | None) -> float:
    """IPC: C*/C, where C* is the best known length; 0 if unsolved."""
    if length is None:
        return 0.0
    return best / length if length else 1.0


def agile_score(first_seconds: float | None, limit: float) -> float:
    """IPC: 1 up to one second, then falling with the logarithm to 0 at the limit; 0 if unsolved."""
    if first_seconds is None or first_seconds > limit:
        return 0.0
    if first_seconds <= 1.0:
        return 1.0
    return 1.0 - math.log(first_seconds) / math.log(limit)


def time_grid(limit: float, points: int = 160) -> Array:
    """Seconds from 0.1 to the limit, evenly spaced on a logarithmic axis."""
    return np.geomspace(min(0.1, limit / 10), limit, points)


def values_over_time(traces: Sequence[Trace], grid: Array) -> Array:
    """[trace, second] -> best length known, NaN before the first plan."""
    values = np.full((len(traces), len(grid)), np.nan)
    for row, trace in zip(values, traces, strict=True):
        for when, length in trace:
            row[grid >= when] = length
    return values


def length_over_time(problems: Problems, grid: Array) -> Band:
    """Mean length over the problems solved by then (the paper's figure; early on these are the easy ones)."""
    lengths = (values_over_time(traces, grid) for traces in problems)
    return band_of_means(rows([known_mean(values) for values in lengths], grid), grid)


def quality_over_time(problems: Problems, best: Sequence[float], grid: Array) -> Band:
    """Mean C*/C over all problems, where an unsolved problem counts 0: no method gains by skipping problems."""
    scores = []
    for traces, reference in zip(problems, best, strict=True):
        lengths = values_over_time(traces, grid)
        found = np.where(lengths == 0, 1.0, reference / np.where(lengths == 0, 1.0, lengths))
        scores.append(np.nan_to_num(found, nan=0.0).mean(axis=0))
    return band_of_means(rows(scores, grid), grid)


def completion_over_time(problems: Problems, grid: Array) -> Band:
    """Share of problems solved by then, with Wilson intervals."""
    shares = [(~np.isnan(values_over_time(traces, grid))).mean(axis=0) for traces in problems]
    solved = rows(shares, grid).sum(axis=0)
    return Band(grid, solved / max(len(problems), 1), *wilson(solved, len(problems)))


def rows(values: Sequence[Array], grid: Array) -> Array:
    """[problem, second], also where there is no problem."""
    return np.array(values, dtype=float).reshape(len(values), len(grid))


def known_mean(values: Array) -> Array:
    """Column means over the known values, NaN where none is known."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    return np.where(count > 0, np.where(known, values, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)


def band_of_means(values: Array, grid: Array) -> Band:
    """Column means over the known values, with mean +- 1.96 standard errors."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    safe = np.maximum(count, 1)
    mean = np.nan_to_num(known_mean(values), nan=0.0)
    squares = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
    error = np.sqrt(squares / np.maximum(count - 1, 1) / safe)
    mean = np.where(count > 0, mean, np.nan)
    error = np.where(count > 1, error, np.nan)
    return Band(grid, mean, mean - CONFIDENCE_Z * error, mean + CONFIDENCE_Z * error)
