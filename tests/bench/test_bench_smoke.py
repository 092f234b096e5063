"""The smoke config for real: every method, ablation, table and figure, with Fast Downward and the shipped models."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from oclgen import model_folders as models
from oclgen.bench.record import RunRecord
from oclgen.bench.record_file import read_records
from oclgen.cli import run as run_cli
from oclgen.domains import catalog
from tests.model_folder import write_random_model
from tests.report.test_report_build import PICTURES, TABLES

OF_THE_LEARNING_TRACK = {"by_domain_easy", "by_domain_larger"}
CONFIG = Path(__file__).parents[2] / "configs" / "smoke" / "main.toml"


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[str]:
    """The catalogued domains with a shipped model; the others get random weights."""
    real = {folder.name: folder for folder in models.shipped() if folder.name in catalog.names()}
    for name in catalog.names():
        folder = tmp_path / "pretrained" / name
        if name in real:
            shutil.copytree(real[name], folder)
            for recipe in folder.glob("*/recipe.json"):
                recipe.unlink()  # the model stands for one before loops and for one after
        else:
            write_random_model(folder, name)
    monkeypatch.setattr(models, "PRETRAINED", tmp_path / "pretrained")
    return set(real)


@pytest.mark.slow
def test_the_smoke_config_brings_every_table_and_figure(
    trained: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    metrics = tmp_path / "runs" / "policy-blocksworld" / "metrics.jsonl"
    metrics.parent.mkdir(parents=True)
    lines = [{"group": "train", "step": step, "loss": 3.0 / step} for step in range(1, 9)]
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_cli(["bench", "--config", str(CONFIG), "--out", "out"]) == 0
    assert run_cli(["report", "out"]) == 0
    runs = [record for record in read_records(Path("out")) if isinstance(record, RunRecord)]
    assert [run.error for run in runs if run.outcome == "broken"] == []
    assert all(run.outcome == "solved" for run in runs if run.label in ("lama-first", "lmcut"))
    assert {path.stem for path in Path("out/report/tables").iterdir()} == TABLES - OF_THE_LEARNING_TRACK
    assert {path.stem for path in Path("out/report/figures").iterdir()} == PICTURES
    own = [run for run in runs if run.label == "oclgen-uniform" and run.domain in trained]
    assert {run.domain for run in own if run.outcome == "solved"} == trained
