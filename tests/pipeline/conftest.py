"""What tests of several stages of `oclgen learn` begin with."""

from pathlib import Path

import pytest

from oclgen.pipeline import off_plan
from oclgen.pipeline.gathering import Plans, divide
from oclgen.support.files import write_json
from tests.data.toy_data import make_dataset


@pytest.fixture
def patient_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(off_plan, "LEAST_LIMIT", 60.0)
    monkeypatch.setattr(off_plan, "MOST_LIMIT", 60.0)


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    """Of a folder of 12 solved problems: 10 to learn from, one to choose, one to measure."""
    write_json(tmp_path / "splits.json", divide(make_dataset(tmp_path / "data", 12, blocks="3")))
    return Plans(tmp_path)
