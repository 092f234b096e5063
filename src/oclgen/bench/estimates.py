"""A child process of a benchmark: a heuristic model's estimates for the initial states of some problems.

    python -m oclgen.bench.estimates MODEL PROFILE RESULT DOMAIN PROBLEM [DOMAIN PROBLEM ...]

Paper: tab:mae_comparison, tab:mae_me_comparison, figures of the cost distributions.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from oclgen.errors import UnsupportedError
from oclgen.inference.engine import FloatArray
from oclgen.inference.relational.heuristic import RelationalHeuristic
from oclgen.inference.words.heuristic import ModelHeuristic, percentile
from oclgen.interfaces import Heuristic
from oclgen.loaded_model import LoadedModel, ModelUse
from oclgen.pddl.task import PddlTask
from oclgen.planner import prepare

MIN_PROBABILITY = 0.0005
"""Smaller probabilities are left out of the record."""
TAIL_SCALES = 20.0
"""Scales above the mean after which a logistic distribution is cut off: less than 10^-8 is left."""


def estimate(
    model: LoadedModel, profile: str, heuristic: Heuristic, domain: Path, problem: Path
) -> dict[str, Any] | None:
    """Mode, percentile and distribution; None for a problem that the model cannot encode. `heuristic` gives modes.

    The percentile is the one that searches with this model use under this profile.
    """
    use = prepare(domain, problem, method="astar", model=model, profile=profile).model_use
    k = use.percentile if use.percentile is not None else 50.0
    task = PddlTask(domain, problem)
    try:
        distribution = initial_distribution(heuristic, task)
    except UnsupportedError:
        return None
    return {
        "percentile": k,
        "mode": heuristic.estimate(task, [task.initial_state])[0],
        "estimate": float(percentile(distribution, k)[0]),
        "distribution": [
            [cost, round(float(share), 5)] for cost, share in enumerate(distribution[0]) if share >= MIN_PROBABILITY
        ],
    }


def initial_distribution(heuristic: Heuristic, task: PddlTask) -> FloatArray:
    """[1, costs]: the probability of each cost of the initial state."""
    if isinstance(heuristic, RelationalHeuristic):
        [(mean, scale)] = heuristic.parameters(task, [task.initial_state])
        return logistic_distribution(float(mean), float(scale))
    assert isinstance(heuristic, ModelHeuristic)
    return heuristic.distribution(task, [task.initial_state])


def logistic_distribution(mean: float, scale: float) -> FloatArray:
    """[1, costs] of a logistic distribution over whole costs; what lies below 0 counts as 0."""
    costs = np.arange(max(1, math.ceil(mean + TAIL_SCALES * scale) + 1))
    up_to = 1.0 / (1.0 + np.exp(-(costs + 0.5 - mean) / scale))
    shares: FloatArray = np.diff(up_to, prepend=0.0).astype(np.float32)[None, :]
    return shares


def main(model: str, profile: str, result: str, *files: str) -> None:
    loaded = LoadedModel(model)
    heuristic = loaded.heuristic(ModelUse(percentile=None))
    pairs = zip(files[::2], files[1::2], strict=True)
    found = [estimate(loaded, profile, heuristic, Path(domain), Path(problem)) for domain, problem in pairs]
    Path(result).write_text(json.dumps({"estimates": found}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
