"""What tests of several stages of `oclgen learn` begin with."""

from pathlib import Path

import pytest

from oclgen.pipeline import learn, off_plan
from oclgen.pipeline.gathering import Plans, divide
from oclgen.pipeline.learn import LearnRequest
from oclgen.support.files import write_json
from tests.data.toy_data import make_dataset
from tests.pipeline.toy_models import nothing


@pytest.fixture
def patient_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(off_plan, "LEAST_LIMIT", 60.0)
    monkeypatch.setattr(off_plan, "MOST_LIMIT", 60.0)


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    """Of a folder of 12 solved problems: 10 to learn from, one to choose, one to measure."""
    write_json(tmp_path / "splits.json", divide(make_dataset(tmp_path / "data", 12, blocks="3")))
    return Plans(tmp_path)


@pytest.fixture
def solved(plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LearnRequest:
    """A run of a quarter of an hour whose problems are solved."""
    for name in ("readable_problems", "check_source", "add_off_plan_states", "settings_for"):
        monkeypatch.setattr(learn, name, nothing)
    monkeypatch.setattr(learn, "gather", lambda *_: plans)
    return LearnRequest("", tmp_path / "out", 900.0, 1, 0)
