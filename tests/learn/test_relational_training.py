"""Training relational models: both losses fall, a run resumes exactly, what it exports plans."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from oclgen.errors import InputError
from oclgen.inference.checkpoint_policy import relational_policy
from oclgen.inference.relational.encoded_states import native_model
from oclgen.learn.export import load_state
from oclgen.learn.settings import TrainingSettings, read_settings
from oclgen.learn.train import train
from oclgen.learn.trainer import Trainer
from oclgen.pddl.task import PddlTask
from oclgen.relational_checkpoint import load_relational
from tests.data.toy_data import make_dataset
from tests.pddl.samples import drawn

RECIPE = Path(__file__).parent.parent.parent / "configs" / "cpu" / "relational-blocksworld.toml"
SMALL = ["model.layers=1", "model.decoder_layers=1", "model.width=16", "model.heads=2", "model.inner=32"]
SMALL += ["model.relation=16", "data.batch_tokens=400", "schedule.time=''", "schedule.name=constant"]
SMALL += ["schedule.warmup=0", "run.log_every=1", "run.validate_every=4"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("toy") / "data", 60, blocks="3")


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def settings(data: Path, *overrides: str) -> TrainingSettings:
    return read_settings(RECIPE, "relational", [*SMALL, "schedule.steps=12", f"data.path={data}", *overrides])


def logged(folder: Path, value: str = "loss", group: str = "train") -> list[float]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line[value] for line in lines if line["group"] == group]


def test_training_leaves_the_arithmetic_of_its_caller_exact(data: Path, tmp_path: Path) -> None:
    train(settings(data, "schedule.steps=2"), tmp_path / "run")
    assert torch.tensor(1e-40) * 1.0 > 0


def test_a_recipe_holds_that_of_the_checkpoint_it_began_with(data: Path, tmp_path: Path) -> None:
    train(settings(data, "schedule.steps=2"), tmp_path / "first")
    train(settings(data, "schedule.steps=2", f'run.initial="{tmp_path}/first/last"'), tmp_path / "second")
    first, second = (json.loads((tmp_path / run / "last" / "recipe.json").read_text()) for run in ("first", "second"))
    assert second == {**first, "initial": first}


def test_both_losses_fall(data: Path, tmp_path: Path) -> None:
    train(settings(data, "schedule.steps=60", "run.validate_every=60", "data.offsets=false"), tmp_path / "run")
    for value in ("token_loss", "cost_loss"):
        found = logged(tmp_path / "run", value)
        assert np.mean(found[-5:]) < 0.7 * np.mean(found[:5])


def test_a_run_in_two_parts_is_a_run_in_one(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = settings(data)
    whole = train(recipe, tmp_path / "whole")
    ordinary = Trainer.reason_to_stop
    with monkeypatch.context() as patch:

        def stopped(trainer: Trainer, interrupted: bool, seconds: float, limit: float) -> str | None:
            return "interrupted" if trainer.progress.step == 5 else ordinary(trainer, interrupted, seconds, limit)

        patch.setattr(Trainer, "reason_to_stop", stopped)
        assert train(recipe, tmp_path / "parts").step == 5
    assert train(recipe, tmp_path / "parts", resume=True).step == whole.step
    for group in ("train", "validation"):
        assert logged(tmp_path / "parts", group=group) == logged(tmp_path / "whole", group=group)
    first, second = (load_state(tmp_path / name / "state.pt")["network"] for name in ("whole", "parts"))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_a_run_exports_writes_plans_and_is_a_start_for_another(data: Path, tmp_path: Path) -> None:
    train(settings(data), tmp_path / "run")
    checkpoint = load_relational(tmp_path / "run" / "best")
    assert ("on", 1) in checkpoint.settings.relations and not checkpoint.settings.distances
    task = PddlTask(*drawn("blocksworld", 0))
    policy = relational_policy(native_model(checkpoint), decoding="applicable")
    [rollouts] = policy.rollouts(task, [task.initial_state], 3, random.Random(0), max_actions=4)
    assert all(len(rollout) > 0 for rollout in rollouts)
    train(settings(data, f"run.initial={tmp_path / 'run' / 'best'}", "schedule.steps=2"), tmp_path / "more")
    assert load_relational(tmp_path / "more" / "last").settings.relations == checkpoint.settings.relations


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("model.encoding=words", "must be relational"),
        ("model.max_plan=0", "needs model.max_plan"),
        ("data.window=0", "needs data.window"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(data: Path, override: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        settings(data, override)
