"""Model folders without a network, and trainings that make them at once."""

from pathlib import Path
from typing import Any

import pytest

from oclgen.learn.train import Outcome
from oclgen.pipeline.installing import SearchChoice, set_choice


def fake_model(folder: Path, choice: SearchChoice | None = None, weights: str = "") -> Path:
    """What the installer looks at, and weights to tell one from another."""
    (folder / "relational").mkdir(parents=True, exist_ok=True)
    (folder / "relational" / "settings.json").write_text('{"max_plan": 73}')
    (folder / "relational" / "weights").write_text(weights)
    set_choice(folder, choice)
    return folder


def weights(folder: Path) -> str:
    return (folder / "relational" / "weights").read_text()


def nothing(*_: Any, **__: Any) -> None:
    pass


def trainings_end(monkeypatch: pytest.MonkeyPatch, module: Any, number: int) -> None:
    """At once and finished, with a signal if `number` is one; the model has the weights `new`."""

    def made(_checkpoint: Path, folder: Path, *_: object) -> None:
        fake_model(folder, weights="new")

    monkeypatch.setattr(module, "train", lambda *_, **__: Outcome("finished", 9, 0.1, 9, number))
    monkeypatch.setattr(module, "make_model", made)
