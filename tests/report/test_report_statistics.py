"""Statistics against scipy, textbook values and values worked out by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from oclgen.report.statistics import (
    agile_score,
    compare,
    completion_over_time,
    length_over_time,
    mean_of,
    quality_over_time,
    satisficing_score,
    time_grid,
    wilson,
)


def test_mean_has_the_standard_error_of_scipy() -> None:
    values = [3.0, 5.0, 8.0, 9.0, 15.0]
    mean = mean_of(values)
    assert mean is not None
    assert mean.mean == 8.0
    assert mean.error == pytest.approx(stats.sem(values))
    assert mean.deviation == pytest.approx(np.std(values, ddof=1))


def test_mean_of_one_value_has_no_error_and_of_none_is_none() -> None:
    mean = mean_of([4.0])
    assert mean is not None and mean.error is None
    assert mean_of([]) is None


def test_wilcoxon_gives_the_textbook_value() -> None:
    """Hollander & Wolfe, depression scale of nine patients before and after: V = 40, two-sided p = 0.03906."""
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    paired = compare(after, before)
    assert paired is not None
    assert paired.p_value == pytest.approx(0.0390625)
    assert (paired.shorter, paired.equal, paired.longer) == (7, 0, 2)


def test_wilcoxon_equals_scipy_with_ties_and_zeros() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(10, 30, 200), rng.integers(11, 32, 200)
    paired = compare(list(first), list(second))
    assert paired is not None
    assert paired.p_value == pytest.approx(stats.wilcoxon(first, second, zero_method="wilcox", method="approx").pvalue)
    assert paired.equal == int((first == second).sum()) > 0


def test_cohens_d_is_mean_over_deviation_of_the_differences() -> None:
    paired = compare([1.0, 2.0, 3.0, 6.0], [2.0, 4.0, 4.0, 8.0])
    assert paired is not None
    assert paired.difference == -1.5
    assert paired.cohens_d == pytest.approx(-1.5 / math.sqrt(1 / 3))
    assert paired.error == pytest.approx(math.sqrt(1 / 3) / 2)


def test_equal_methods_differ_by_nothing() -> None:
    paired = compare([4.0, 5.0, 6.0], [4.0, 5.0, 6.0])
    assert paired is not None
    assert (paired.difference, paired.p_value, paired.cohens_d, paired.equal) == (0.0, 1.0, None, 3)


def test_a_constant_difference_has_no_effect_size_but_a_p_value() -> None:
    paired = compare([3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    assert paired is not None
    assert paired.cohens_d is None
    assert paired.p_value == pytest.approx(stats.wilcoxon([-1.0] * 6, method="approx").pvalue)


def test_no_pairs_give_no_comparison() -> None:
    assert compare([], []) is None


def test_wilson_intervals_give_the_published_value_and_scipys() -> None:
    low, high = wilson(np.asarray([81.0]), 263)  # Newcombe 1998, Table I
    assert (round(low[0], 4), round(high[0], 4)) == (0.2553, 0.3662)
    low, high = wilson(np.arange(11.0), 10)
    for successes in range(11):
        expected = stats.binomtest(successes, 10).proportion_ci(method="wilson")
        assert (low[successes], high[successes]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert np.isnan(wilson(np.zeros(1), 0)[0])


def test_ipc_scores() -> None:
    assert satisficing_score(10, 20) == 0.5
    assert satisficing_score(10, None) == 0.0
    assert satisficing_score(0, 0) == 1.0
    assert agile_score(0.3, 300) == 1.0
    assert agile_score(math.sqrt(300), 300) == pytest.approx(0.5)
    assert agile_score(300, 300) == pytest.approx(0.0)
    assert agile_score(None, 300) == agile_score(301, 300) == 0.0


def test_curves_step_where_the_traces_do() -> None:
    grid = np.asarray([0.5, 1.0, 2.0, 4.0])
    problems: list[list[list[tuple[float, int]]]] = [[[(1.0, 20), (4.0, 10)]], [[(2.0, 40)]], [[]]]
    lengths = length_over_time(problems, grid)
    np.testing.assert_allclose(lengths.middle, [np.nan, 20, 30, 25])
    completion = completion_over_time(problems, grid)
    np.testing.assert_allclose(completion.middle, [0, 1 / 3, 2 / 3, 2 / 3])
    quality = quality_over_time(problems, [10, 40, 5], grid)
    np.testing.assert_allclose(quality.middle, [0, 0.5 / 3, 1.5 / 3, 2 / 3])


def test_seeds_of_a_problem_are_averaged_before_problems_are() -> None:
    grid = np.asarray([0.5, 1.0, 4.0])
    problems: list[list[list[tuple[float, int]]]] = [[[(1.0, 20)], [(4.0, 10)], []], [[(1.0, 40)]]]
    np.testing.assert_allclose(length_over_time(problems, grid).middle, [np.nan, 30, 27.5])
    np.testing.assert_allclose(completion_over_time(problems, grid).middle, [0, 2 / 3, 5 / 6])
    np.testing.assert_allclose(quality_over_time(problems, [10, 40], grid).middle, [0, (0.5 / 3 + 1) / 2, 0.75])


def test_more_seeds_with_the_same_results_make_no_band_narrower() -> None:
    grid = np.asarray([1.0])
    once: list[list[list[tuple[float, int]]]] = [[[(0.1, 10)]], [[(0.1, 14)]], [[(0.1, 18)]], [[]]]
    thrice = [traces * 3 for traces in once]
    for first, second in (
        (length_over_time(once, grid), length_over_time(thrice, grid)),
        (completion_over_time(once, grid), completion_over_time(thrice, grid)),
        (quality_over_time(once, [9] * 4, grid), quality_over_time(thrice, [9] * 4, grid)),
    ):
        assert (first.low[0], first.high[0]) == (pytest.approx(second.low[0]), pytest.approx(second.high[0]))


def test_bands_are_1_96_standard_errors_wide() -> None:
    band = length_over_time([[[(0.1, 10)]], [[(0.1, 14)]], [[(0.1, 18)]]], np.asarray([1.0]))
    expected = 1.959964 * stats.sem([10, 14, 18])
    assert band.high[0] - band.middle[0] == pytest.approx(expected, rel=1e-6)
    assert band.middle[0] - band.low[0] == pytest.approx(expected, rel=1e-6)


def test_time_grid_ends_at_the_limit() -> None:
    assert time_grid(10.0)[-1] == pytest.approx(10.0)
    assert time_grid(0.2)[0] < 0.1
