from pathlib import Path

import pytest

from oclgen.errors import InputError
from oclgen.improve.settings import ExtraExamples, ImproveSettings, read_settings
from tests.improve.improving import CONFIGS, SMOKE

SHIPPED = sorted(CONFIGS.glob("*/improve*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_shipped_recipe_is_valid(path: Path) -> None:
    read_settings(path)


@pytest.mark.parametrize("path", [path for path in SHIPPED if path.parent.name == "paper"], ids=lambda path: path.stem)
def test_the_papers_recipes_do_nothing_beyond_the_paper(path: Path) -> None:
    settings = read_settings(path)
    assert settings.extra == ExtraExamples()
    assert (settings.search.profile, settings.search.in_force) == ("paper", {"depth_selection": "uniform"})
    assert (settings.n_loop, settings.problems.per_loop, settings.problems.test) == (3, 3000, 1000)
    assert (settings.evaluation.samples, settings.evaluation.links) == (10, 1)
    assert {settings.policy.optimizer.lr, settings.heuristic.optimizer.lr} == {1e-5}


def test_a_recipe_without_a_relational_table_still_has_its_window_when_one_key_of_it_is_set() -> None:
    settings = read_settings(CONFIGS / "paper" / "improve-blocksworld.toml", ["relational.schedule.steps=4"])
    assert settings.relational.schedule.steps == 4
    assert settings.relational.data == ImproveSettings().relational.data
    assert settings.relational.data.window > 0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("loops=3", "unknown key 'loops'"),
        ("search.beam=3", r"\[search\]: unknown key 'beam'"),
        ("policy.model.layers=3", r"\[policy\]: unknown key 'model'"),
        ("policy.optimizer.rate=3", r"\[policy\]: \[optimizer\]: unknown key 'rate'"),
        ("n_loop=0", "n_loop must be > 0"),
        ("problems.per_loop=0", "problems: all numbers must be > 0"),
        ("search.method=astar", "search.method must be one of oclgen, mcts"),
        ("relational.data.window=0", "relational.data.window must be > 0"),
        ("search={method = 'oclgen', time_limit = ''}", "give time_limit or iterations"),
        ("search.time_limit=3", "time_limit must be of type str, not 3"),
        ("extra.plans=0", "extra.plans must be > 0"),
        ("extra.teacher=-0.5", "must be >= 0"),
        ("evaluation.profile=best", "evaluation.profile must be one of"),
        ("policy.run.initial=/somewhere", "the loop itself sets"),
        ("relational.data.path=/somewhere", "the loop itself sets"),
        ("problems.ranges=[3]", "ranges: each must be of type str, not 3"),
    ],
)
def test_a_bad_setting_is_refused_by_name(override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_settings(SMOKE, [override])


def test_extra_examples_beyond_the_paper_are_off_by_default() -> None:
    extra = ImproveSettings().extra
    assert not extra.bank and not extra.from_graph and not extra.teacher
