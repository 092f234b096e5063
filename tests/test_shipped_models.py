"""The models that come with the package: found by the content of a domain, small, with their recipes."""

from pathlib import Path

import pytest

from oclgen.checkpoint import read_json
from oclgen.loaded_model import LoadedModel
from oclgen.model_folders import PRETRAINED, find_model, model_domain, shipped
from oclgen.planner import solve
from oclgen.search.anytime import Ending

MODELS = list(shipped())
FERRY = """(define (problem two-cars) (:domain ferry) (:objects a b - location c d - car)
(:init (at-ferry a) (at c a) (at d b) (empty-ferry)) (:goal (and (at c b) (at d a))))"""


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_a_shipped_model_is_found_by_its_domain_loads_and_tells_its_recipe(folder: Path) -> None:
    assert find_model(model_domain(folder)) == folder
    LoadedModel(folder)
    recipe = read_json(folder / "relational" / "recipe.json")
    assert recipe["problems"] > 0 and recipe["fingerprint"] and recipe["teacher"] in ("lama-first", "bfs", "oclgen")
    assert read_json(folder / "relational" / "metrics.json")["validation"]["loss"] < 2


def test_all_shipped_models_together_are_small() -> None:
    assert sum(file.stat().st_size for file in PRETRAINED.rglob("*") if file.is_file()) < 30e6


def test_a_problem_of_the_learning_track_needs_no_model_of_its_own() -> None:
    result = solve(PRETRAINED / "ipc2023-ferry" / "relational" / "domain.pddl", FERRY, iterations=5)
    assert result.plan is not None and len(result.plan) == 6
    assert result.ending is not Ending.TIME
