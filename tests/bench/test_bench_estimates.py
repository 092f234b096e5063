"""The distributions in the records agree with what searches are told."""

import numpy as np
import pytest

from oclgen.bench.estimates import logistic_distribution
from oclgen.inference.heuristic import percentile
from oclgen.inference.relational_heuristic import modes, percentiles


@pytest.mark.parametrize(("mean", "scale"), [(23.7, 1.9), (0.2, 1.0), (160.0, 0.3), (5.0, 8.0)])
def test_a_logistic_distribution_over_costs_has_the_percentiles_that_searches_use(mean: float, scale: float) -> None:
    shares = logistic_distribution(mean, scale)
    parameters = np.asarray([[mean, scale]], dtype=np.float32)
    assert shares.sum() == pytest.approx(1.0, abs=1e-5)
    assert (shares >= 0).all()
    for k in (3.0, 20.0, 50.0, 90.0):
        assert percentile(shares, k)[0] == percentiles(parameters, k)[0]


def test_the_mode_is_the_most_likely_cost() -> None:
    shares = logistic_distribution(23.7, 1.9)
    assert shares[0].argmax() == modes(np.asarray([[23.7, 1.9]], dtype=np.float32))[0]
