"""Settings are checked before anything is loaded."""

from pathlib import Path

import pytest

from oclgen.errors import InputError
from oclgen.learn.settings import read_settings, save_settings

CONFIGS = Path(__file__).parent.parent.parent / "configs"
RECIPES = sorted(path for path in CONFIGS.glob("*/*.toml") if path.stem.startswith(("policy-", "heuristic-")))


def recipe(tmp_path: Path, extra: str = "") -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(f'kind = "policy"\n[model]\nmax_plan = 50\n{extra}[data]\nbatch_examples = 4\n')
    return path


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_shipped_recipe_is_valid(path: Path) -> None:
    settings = read_settings(path)
    assert path.stem == f"{settings.kind}-{settings.data.domain}"


def test_every_domain_has_its_recipes() -> None:
    domains = {"blocksworld", "labyrinth", "logistics", "sokoban"}
    paper = {path.stem for path in CONFIGS.glob("paper/*.toml")}
    assert paper >= {f"{kind}-{name}" for kind in ("policy", "heuristic") for name in domains}
    small = {path.stem for path in CONFIGS.glob("cpu/*.toml")}
    assert small >= {f"relational-{name}" for name in domains} | {"policy-blocksworld", "heuristic-blocksworld"}


def test_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"recipe.toml: \[model\]: unknown key 'layer' \(known: .*layers"):
        read_settings(recipe(tmp_path, "layer = 3\n"))


def test_a_wrong_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\[model\]: layers must be of type int, not '3'"):
        read_settings(recipe(tmp_path, 'layers = "3"\n'))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.heads=3", "multiple of model.heads"),
        ("model.max_plan=0", "a policy needs model.max_plan"),
        ("model.encoding=relational", "model.encoding of a policy model must be words"),
        ("model.encoding=letters", "model.encoding must be one of relational, words"),
        ("kind=heuristic", "a heuristic needs model.max_cost"),
        ("data.batch_tokens=5", "batch_examples or batch_tokens"),
        ("schedule.epochs=3", "exactly one of steps, epochs and time"),
        ("schedule.name=linear", "constant, cosine or trapezoid"),
        ("optimizer.betas=[0.9]", "two in"),
        ("run.precision=int8", "float32, bfloat16, float16"),
        ("run.save_every=soon", "not a duration"),
        ("kind=planner", "must be one of relational, policy, heuristic"),
        ("model", "write this as KEY=VALUE"),
        ("kind.x=1", "is not a table"),
    ],
)
def test_nonsense_is_refused(tmp_path: Path, override: str, message: str) -> None:
    path = recipe(tmp_path, "[schedule]\nsteps = 10\n")
    with pytest.raises(InputError, match=message):
        read_settings(path, overrides=[override])


def test_overrides_win_and_keep_their_types(tmp_path: Path) -> None:
    settings = read_settings(
        recipe(tmp_path), overrides=["model.layers=7", "optimizer.lr=1e-4", "data.path=/some/where", "run.threads=2"]
    )
    assert (settings.model.layers, settings.optimizer.lr, settings.data.path) == (7, 1e-4, "/some/where")


def test_saved_settings_read_back_equal(tmp_path: Path) -> None:
    settings = read_settings(recipe(tmp_path), overrides=["optimizer.betas=[0.8, 0.9]", "run.seed=4"])
    save_settings(tmp_path / "settings.json", settings)
    assert read_settings(tmp_path / "settings.json") == settings


def test_a_recipe_of_the_other_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="recipe for a policy, not for a heuristic"):
        read_settings(recipe(tmp_path), "heuristic")
