"""A child process of a benchmark: a heuristic model's estimates for the initial states of some problems.

    python -m oclgen.bench.estimates MODEL PROFILE RESULT DOMAIN PROBLEM [DOMAIN PROBLEM ...]

Paper: tab:mae_comparison, tab:mae_me_comparison, figures of the cost distributions.
"""

import json
import sys
from pathlib import Path
from typing import Any

from oclgen.errors import UnsupportedError
from oclgen.inference.heuristic import ModelHeuristic, percentile
from oclgen.pddl.task import PddlTask
from oclgen.planner import prepare

MIN_PROBABILITY = 0.0005
"""Smaller probabilities are left out of the record."""


def estimate(
    model: Path, profile: str, heuristic: ModelHeuristic, domain: Path, problem: Path
) -> dict[str, Any] | None:
    """Mode, percentile and distribution; None for a problem that the model cannot encode.

    The percentile is the one that searches with this model use under this profile.
    """
    use = prepare(domain, problem, method="astar", model=model, profile=profile).model_use
    k = use.percentile if use.percentile is not None else 50.0
    task = PddlTask(domain, problem)
    try:
        distribution = heuristic.distribution(task, [task.initial_state])
    except UnsupportedError:
        return None
    return {
        "percentile": k,
        "mode": float(distribution[0].argmax()),
        "estimate": float(percentile(distribution, k)[0]),
        "distribution": [
            [cost, round(float(share), 5)] for cost, share in enumerate(distribution[0]) if share >= MIN_PROBABILITY
        ],
    }


def main(model: str, profile: str, result: str, *files: str) -> None:
    heuristic = ModelHeuristic(Path(model) / "heuristic", percentile=None)
    pairs = zip(files[::2], files[1::2], strict=True)
    found = [estimate(Path(model), profile, heuristic, Path(domain), Path(problem)) for domain, problem in pairs]
    Path(result).write_text(json.dumps({"estimates": found}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
