"""The distributions in the records agree with what searches are told."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from oclgen.bench.estimates import logistic_distribution, main
from oclgen.inference.relational.heuristic import modes, percentiles
from oclgen.inference.words.heuristic import percentile
from oclgen.loaded_model import LoadedModel, ModelUse
from oclgen.pddl.task import PddlTask
from oclgen.planner import prepare
from tests.model_folder import write_random_model
from tests.pddl.samples import drawn
from tests.relational_folder import write_relational_model


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


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two problems, each with its domain."""
    found = []
    for index in range(2):
        for name, text in zip(("domain", "problem"), drawn("blocksworld", index), strict=True):
            found.append(tmp_path / f"{name}{index}.pddl")
            found[-1].write_text(text)
    return found


@pytest.mark.parametrize("write", [write_random_model, write_relational_model])
@pytest.mark.parametrize("profile", ["paper", "extended"])
def test_mode_and_percentile_of_every_problem_are_those_that_searches_use(
    write: Callable[[Path, str], Path], profile: str, tmp_path: Path, files: list[Path]
) -> None:
    model = LoadedModel(write(tmp_path / "model", "blocksworld"))
    main(str(model.folder), profile, str(tmp_path / "result.json"), *map(str, files))
    estimates = json.loads((tmp_path / "result.json").read_text())["estimates"]
    for domain, problem, found in zip(files[::2], files[1::2], estimates, strict=True):
        use = prepare(domain, problem, method="astar", model=model, profile=profile).model_use
        assert found["percentile"] == use.percentile
        task = PddlTask(domain, problem)
        for k, name in ((use.percentile, "estimate"), (None, "mode")):
            assert model.heuristic(ModelUse(percentile=k)).estimate(task, [task.initial_state]) == [found[name]]
        assert sum(share for _, share in found["distribution"]) == pytest.approx(1.0, abs=0.05)
