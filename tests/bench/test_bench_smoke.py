"""The smoke config for real: every method, ablation, table and figure, with Fast Downward and the shipped models."""

import json
import tempfile
from pathlib import Path

import pytest

from oclgen import models
from oclgen.bench.journal import read_records
from oclgen.bench.record import Run
from oclgen.cli import run as run_cli
from oclgen.domains import catalog
from tests.bench.test_bench_report import PICTURES, TABLES
from tests.model_folder import write_random_model

CONFIG = Path(__file__).parents[2] / "configs" / "smoke" / "main.toml"


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bool:
    """Whether every domain has a shipped model; where one lacks, random weights take the place of all."""
    if {folder.name for folder in models.shipped()} >= set(catalog.names()):
        return True
    for name in catalog.names():
        write_random_model(tmp_path / "pretrained" / name, name)
    monkeypatch.setattr(models, "PRETRAINED", tmp_path / "pretrained")
    return False


@pytest.mark.slow
def test_the_smoke_config_brings_every_table_and_figure(
    shipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    metrics = tmp_path / "runs" / "policy-blocksworld" / "metrics.jsonl"
    metrics.parent.mkdir(parents=True)
    lines = [{"group": "train", "step": step, "loss": 3.0 / step} for step in range(1, 9)]
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_cli(["bench", "--config", str(CONFIG), "--out", "out"]) == 0
    assert run_cli(["report", "out"]) == 0
    runs = [record for record in read_records(Path("out")) if isinstance(record, Run)]
    assert [run.error for run in runs if run.outcome == "broken"] == []
    assert all(run.outcome == "solved" for run in runs if run.label in ("lama-first", "lmcut"))
    assert {path.stem for path in Path("out/report/tables").iterdir()} == TABLES
    assert {path.stem for path in Path("out/report/figures").iterdir()} == PICTURES
    if shipped:
        solved = [run.outcome == "solved" for run in runs if run.label == "oclgen-uniform"]
        assert sum(solved) >= 0.9 * len(solved)
