"""Percentile and mode of the cost head in closed form against sums over costs."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oclgen.errors import InputError
from oclgen.inference.relational.heuristic import RelationalHeuristic, modes, percentiles
from oclgen.pddl.task import PddlTask
from tests.pddl.samples import drawn
from tests.relational_folder import random_relational_model


def cumulative(mean: float, scale: float, cost: int) -> float:
    return 1 / (1 + math.exp(min(700.0, -(cost + 0.5 - mean) / scale)))


def parameters(mean: float, scale: float) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    return np.array([[mean, scale]], np.float32)


means = st.floats(0.0, 400.0, width=32)
scales = st.floats(0.3125, 40.0, width=32)


@settings(max_examples=100, deadline=None)
@given(means, scales, st.sampled_from([0.1, 1, 5, 10, 25, 50, 75, 90, 99]))
def test_the_percentile_is_the_smallest_cost_that_reaches_its_share(mean: float, scale: float, k: float) -> None:
    found = int(percentiles(parameters(mean, scale), k)[0])
    rounding = 1e-4  # of float32, relative to a share
    assert cumulative(mean, scale, found) >= k / 100 * (1 - rounding)
    assert found == 0 or cumulative(mean, scale, found - 1) < k / 100 * (1 + rounding)


@settings(max_examples=100, deadline=None)
@given(means, scales)
def test_the_mode_is_the_most_likely_whole_cost(mean: float, scale: float) -> None:
    mode = int(modes(parameters(mean, scale))[0])

    def share(cost: int) -> float:
        return cumulative(mean, scale, cost) - cumulative(mean, scale, cost - 1)

    assert share(mode) >= max(share(cost) for cost in range(max(0, mode - 100), mode + 100)) - 1e-6


def test_the_hundredth_percentile_is_finite() -> None:
    assert math.isfinite(percentiles(parameters(100.0, 5.0), 100.0)[0])


def test_estimates_are_whole_costs_and_higher_percentiles_are_higher(tmp_path: Path) -> None:
    domain, problem = drawn("logistics", 0)
    task = PddlTask(domain, problem)
    model = random_relational_model(tmp_path / "model", domain)
    states = [
        task.initial_state,
        *(task.apply(task.initial_state, each) for each in task.applicable(task.initial_state)),
    ]
    low, mode, high = (RelationalHeuristic(model, percentile=k).estimate(task, states) for k in (10, None, 90))
    assert all(value == int(value) >= 0 for value in (*low, *mode, *high))
    assert all(one <= two <= three for one, two, three in zip(low, mode, high, strict=True)) and low != high
    assert RelationalHeuristic(model, percentile=10).estimate(task, []) == []


@pytest.mark.parametrize("percentile", [0.0, -1.0, 101.0])
def test_a_percentile_out_of_range_is_refused(tmp_path: Path, percentile: float) -> None:
    model = random_relational_model(tmp_path / "model", drawn("blocksworld", 0)[0])
    with pytest.raises(InputError, match="percentile"):
        RelationalHeuristic(model, percentile=percentile)
