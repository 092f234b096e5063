"""Which settings a search gets: the profile's, the model's, the caller's; unknown ones are refused by name."""

from dataclasses import asdict
from pathlib import Path

import pytest

from oclgen import planner
from oclgen.domains import catalog
from oclgen.errors import InputError
from oclgen.search import METHODS
from tests.model_folder import write_random_model

SPEC = catalog.load("blocksworld")
DOMAIN = SPEC.domain_text


def blocks(count: int, index: int = 0) -> str:
    return catalog.draw(SPEC, 3, index, catalog.overrides(SPEC, [f"blocks={count}"])).text


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("model"), "blocksworld")


def test_settings_reach_the_search_and_unknown_or_mistyped_ones_are_refused(model: Path) -> None:
    prepared = planner.prepare(
        DOMAIN, blocks(4), model=model, settings={"confidence": 0.5, "percentile": None, "n_init": 1}
    )
    assert prepared.settings["confidence"] == 0.5
    assert prepared.settings["percentile"] is None
    with pytest.raises(InputError, match="unknown setting 'speed'"):
        planner.prepare(DOMAIN, blocks(4), model=model, settings={"speed": 9})
    with pytest.raises(InputError, match="n_init must be of type int"):
        planner.prepare(DOMAIN, blocks(4), model=model, settings={"n_init": "many"})


@pytest.mark.parametrize(
    ("method", "setting"),
    [("best-of-n", "pass_through"), ("astar", "prune"), ("mcts-partial", "links"), ("mcts", "max_tokens")],
)
def test_a_setting_that_a_method_does_not_have_is_refused_by_name_and_ignored_in_a_profile_or_model(
    method: str, setting: str, tmp_path: Path
) -> None:
    folder = write_random_model(tmp_path / "model", "blocksworld")
    (folder / "solve.toml").write_text("pass_through = true\nprune = true\nlinks = 7\nmax_tokens = 9\n")
    fixed = asdict(METHODS[method].settings).get(setting)
    assert planner.prepare(DOMAIN, blocks(4), method=method, model=folder).settings.get(setting) == fixed
    with pytest.raises(InputError, match=f"unknown setting '{setting}'"):
        planner.prepare(DOMAIN, blocks(4), method=method, model=folder, settings={setting: 1})


def test_a_model_may_bring_settings_of_any_method_which_only_the_paper_profile_ignores(tmp_path: Path) -> None:
    folder = write_random_model(tmp_path / "model", "blocksworld")
    (folder / "solve.toml").write_text("widening_factor = 2.0\nmax_tokens = 9\n")
    for profile, factor, tokens in (("extended", 2.0, 9), ("paper", 1.0, 50)):
        settings = planner.prepare(DOMAIN, blocks(4), method="mcts-partial", model=folder, profile=profile).settings
        assert (settings["widening_factor"], settings["max_tokens"]) == (factor, tokens)


def test_the_paper_profile_has_the_papers_settings_for_the_domain(model: Path) -> None:
    settings = planner.prepare(DOMAIN, blocks(4), model=model, profile="paper").settings
    expected = {"n_init": 3, "max_tokens": 50, "confidence": 0.95, "percentile": 3, "decoding": "free", "prune": False}
    assert {key: settings[key] for key in expected} == expected


def test_a_domain_under_another_name_gets_the_same_settings(model: Path) -> None:
    domain, problem = (text.replace("blocksworld-4ops", "harbour") for text in (DOMAIN, blocks(3)))
    renamed = planner.prepare(domain, problem, model=model, profile="paper")
    assert renamed.search_settings == planner.prepare(DOMAIN, blocks(3), model=model, profile="paper").search_settings
    assert renamed.model_use == planner.prepare(DOMAIN, blocks(3), model=model, profile="paper").model_use


def test_baselines_keep_their_own_rollout_limits(model: Path) -> None:
    assert planner.prepare(DOMAIN, blocks(4), model=model, method="mcts").settings["max_tokens"] is None
    assert planner.prepare(DOMAIN, blocks(4), model=model, method="mcts-partial").settings["max_tokens"] == 50


def test_an_unknown_setting_of_a_model_is_refused_by_name(tmp_path: Path) -> None:
    folder = write_random_model(tmp_path / "model", "blocksworld")
    (folder / "solve.toml").write_text("passthrough = true\n")
    with pytest.raises(InputError, match=r"solve\.toml: unknown setting 'passthrough'"):
        planner.prepare(DOMAIN, blocks(3), model=folder)


@pytest.mark.parametrize(
    ("method", "profile", "passing"),
    [
        ("oclgen", "extended", True),
        ("astar", "extended", True),
        ("gbfs", "extended", True),
        ("mcts", "extended", True),
        ("mcts-partial", "extended", True),
        ("astar", "paper", False),
        ("mcts", "paper", False),
    ],
)
def test_a_model_that_relies_on_passing_through_gets_it_from_every_search_that_can(
    method: str, profile: str, passing: bool
) -> None:
    spec = catalog.load("labyrinth")
    problem = catalog.draw(spec, 1, 0, catalog.overrides(spec, ["size=3"])).text
    assert (
        planner.prepare(spec.domain_text, problem, method=method, profile=profile).settings["pass_through"] is passing
    )
