"""A signal in the last moment of finetuning: the checkpoint is in its place, and then the loop ends."""

import signal
from pathlib import Path
from typing import Any

import pytest

from oclgen.errors import OclgenError
from oclgen.improve.finetune import FinetuneRun, train_run
from oclgen.improve.settings import Finetuning
from oclgen.learn import train as training
from oclgen.learn.settings import Model, TrainingSettings
from oclgen.learn.train import Outcome


def finished(number: int) -> Any:
    def train(settings: TrainingSettings, folder: Path, resume: bool) -> Outcome:
        (folder / "last").mkdir(parents=True)
        return Outcome("finished", 9, 0.5, 8, number)

    return train


def run(tmp_path: Path) -> FinetuneRun:
    tuning = Finetuning()
    settings = TrainingSettings("policy", Model(max_plan=9), tuning.data, tuning.optimizer, tuning.schedule, tuning.run)
    return FinetuneRun(settings, tmp_path / "run", tmp_path / "policy")


def test_a_signal_as_finetuning_finishes_ends_the_loop_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "train", finished(signal.SIGTERM))
    with pytest.raises(OclgenError, match="go on with --resume"):
        train_run(run(tmp_path))
    assert (tmp_path / "policy").is_dir()


def test_without_a_signal_the_loop_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "train", finished(0))
    assert train_run(run(tmp_path)) == "policy"
