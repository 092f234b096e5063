"""A signal at the end of a training: the model is made, and then the command ends."""

import signal
from pathlib import Path
from typing import Any

import pytest

from oclgen.learn.train import Outcome
from oclgen.pipeline import learn, loops
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.gathering import Plans
from oclgen.pipeline.learn import LearnRequest
from oclgen.pipeline.loops import Improver
from tests.pipeline.toy_models import fake_model


def nothing(*_: Any, **__: Any) -> None:
    pass


def made(_checkpoint: Path, folder: Path, *_: object) -> None:
    fake_model(folder)


def ending(monkeypatch: pytest.MonkeyPatch, module: Any, number: int) -> None:
    """Trainings that end at once, finished, and with a signal if `number` is one."""
    monkeypatch.setattr(module, "train", lambda *_, **__: Outcome("finished", 9, 0.1, 9, number))
    monkeypatch.setattr(module, "make_model", made)


@pytest.fixture
def request_of(plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LearnRequest:
    """A run whose problems are solved."""
    for name in ("readable_problems", "check_source", "add_off_plan_states", "settings_for"):
        monkeypatch.setattr(learn, name, nothing)
    monkeypatch.setattr(learn, "gather", lambda *_: plans)
    return LearnRequest("", tmp_path / "out", 900.0, 1, 0)


def test_a_signal_as_the_training_finishes_ends_the_command_once_the_model_is_installed(
    request_of: LearnRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, learn, signal.SIGTERM)
    monkeypatch.setattr(learn, "tune", lambda *_: pytest.fail("it went on"))
    published: list[Path] = []
    assert not learn.learn(request_of, lambda _: None, published.append)
    assert (request_of.work / "model").is_dir() and (request_of.out / "relational").is_dir()
    assert published == [request_of.out]


def test_a_trained_model_is_installed_before_settings_are_tried(
    request_of: LearnRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    ending(monkeypatch, learn, 0)
    monkeypatch.setattr(learn, "tune", stopped)
    with pytest.raises(KeyboardInterrupt):
        learn.learn(request_of, lambda _: None)
    assert (request_of.out / "relational").is_dir()


def test_a_signal_while_examples_are_encoded_leaves_the_best_so_far(
    request_of: LearnRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    ending(monkeypatch, learn, 0)
    monkeypatch.setattr(learn, "train", stopped)
    (request_of.training / "best").mkdir(parents=True)
    assert not learn.learn(request_of, lambda _: None)
    assert (request_of.out / "relational").is_dir() and not (request_of.work / "model").exists()


def test_a_signal_as_the_training_of_a_loop_finishes_keeps_its_model_and_ends_the_command(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, loops, signal.SIGINT)
    monkeypatch.setattr(loops, "read_settings", nothing)
    monkeypatch.setattr(loops, "finetuning_settings", nothing)
    improver = Improver(tmp_path, plans, Clock(tmp_path / "clock.json", 600.0), 1, 0, lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        improver.learn(tmp_path / "loop-1", 60.0, tmp_path / "model")
    assert (tmp_path / "loop-1" / "model").is_dir()
