"""A tiny Blocksworld loop: a clumsy teacher, a network that has learned next to nothing, searches of a few steps."""

from pathlib import Path

from oclgen.improve.settings import ImproveSettings, read_settings
from oclgen.learn.settings import read_settings as read_training_settings
from oclgen.learn.train import train
from tests.data.toy_data import make_dataset

CONFIGS = Path(__file__).parent.parent.parent / "configs"
SMOKE = CONFIGS / "smoke" / "improve.toml"
TINY = [
    "problems.per_loop=5",
    "problems.validation=2",
    "problems.test=3",
    "search.time_limit=''",
    "search.iterations=3",
    "search.settings={n_init = 1, samples = 4, decoding = 'applicable'}",
    "relational.schedule.steps=4",
    "evaluation.samples=3",
]


def make_data(folder: Path) -> Path:
    """12 problems to train on, 2 to validate, 2 to test."""
    return make_dataset(folder, 16, blocks="3")


SMALL = ["model.layers=1", "model.width=16", "model.inner=32", "schedule.steps=12"]


def make_model(folder: Path, data: Path) -> Path:
    small = [*SMALL, "model.decoder_layers=1", "model.relation=8", "schedule.time=''", f"data.path={data}"]
    recipe = read_training_settings(CONFIGS / "cpu" / "relational-blocksworld.toml", "relational", small)
    train(recipe, folder / "training")
    (folder / "training" / "best").rename(folder / "relational")
    return folder


def make_papers_model(folder: Path, data: Path) -> Path:
    """A policy and a heuristic with a network each."""
    for kind in ("policy", "heuristic"):
        small = [*SMALL, "model.encoding=words", f"data.path={data}"]
        if kind == "policy":
            small.append("generation.problems=0")
        recipe = read_training_settings(CONFIGS / "smoke" / f"{kind}-blocksworld.toml", kind, small)
        train(recipe, folder / "training" / kind)
        (folder / "training" / kind / "best").rename(folder / kind)
    return folder


def tiny(data: Path, *overrides: str) -> ImproveSettings:
    return read_settings(SMOKE, tiny_overrides(data, *overrides))


def tiny_overrides(data: Path, *overrides: str) -> list[str]:
    return [*TINY, f"problems.path={data}", *overrides]
