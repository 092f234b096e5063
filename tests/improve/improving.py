"""A tiny Blocksworld loop: a clumsy teacher, networks that have learned next to nothing, searches of a few steps."""

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
    "policy.schedule.steps=4",
    "heuristic.schedule.steps=4",
    "evaluation.samples=3",
]


def make_data(folder: Path) -> Path:
    """12 problems to train on, 2 to validate, 2 to test."""
    return make_dataset(folder, 16, blocks="3")


def make_model(folder: Path, data: Path) -> Path:
    for kind in ("policy", "heuristic"):
        small = ["model.layers=1", "model.width=16", "model.inner=32", "schedule.steps=12", f"data.path={data}"]
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
