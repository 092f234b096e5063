"""A signal at the end of a training: the model is made, and then the command ends."""

import signal
from pathlib import Path

import pytest

from oclgen.pipeline import learn, loops
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.gathering import Plans
from oclgen.pipeline.learn import LearnRequest
from oclgen.pipeline.loops import Improver
from tests.pipeline.toy_models import nothing, trainings_end


def test_a_signal_as_the_training_finishes_ends_the_command_once_the_model_is_installed(
    solved: LearnRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainings_end(monkeypatch, learn, signal.SIGTERM)
    monkeypatch.setattr(learn, "tune", lambda *_: pytest.fail("it went on"))
    published: list[Path] = []
    assert not learn.learn(solved, lambda _: None, published.append)
    assert (solved.work / "model").is_dir() and (solved.out / "relational").is_dir()
    assert published == [solved.out]


def test_a_trained_model_is_installed_before_settings_are_tried(
    solved: LearnRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    trainings_end(monkeypatch, learn, 0)
    monkeypatch.setattr(learn, "tune", stopped)
    with pytest.raises(KeyboardInterrupt):
        learn.learn(solved, lambda _: None)
    assert (solved.out / "relational").is_dir()


def test_a_signal_while_examples_are_encoded_leaves_the_best_so_far(
    solved: LearnRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    trainings_end(monkeypatch, learn, 0)
    monkeypatch.setattr(learn, "train", stopped)
    (solved.training / "best").mkdir(parents=True)
    assert not learn.learn(solved, lambda _: None)
    assert (solved.out / "relational").is_dir() and not (solved.work / "model").exists()


def test_a_signal_as_the_training_of_a_loop_finishes_keeps_its_model_and_ends_the_command(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainings_end(monkeypatch, loops, signal.SIGINT)
    monkeypatch.setattr(loops, "read_settings", nothing)
    monkeypatch.setattr(loops, "finetuning_settings", nothing)
    improver = Improver(tmp_path, plans, Clock(tmp_path / "clock.json", 600.0), 1, 0, lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        improver.learn(tmp_path / "loop-1", 60.0, tmp_path / "model")
    assert (tmp_path / "loop-1" / "model").is_dir()
