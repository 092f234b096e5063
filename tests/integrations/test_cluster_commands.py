"""Whole commands on a cluster that loses a node in the middle, or its driver: the outcome is that of a quiet run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from oclgen.bench.benchmark import run_benchmark
from oclgen.bench.config import read_config
from oclgen.data import dataset
from oclgen.improve.loop import improve
from oclgen.pipeline import loops, sizes, tuning
from oclgen.pipeline.learn import LearnRequest, learn
from oclgen.support.cluster import RayCluster
from oclgen.support.files import read_json_lines
from tests.improve.improving import make_data, make_model, tiny
from tests.model_folder import write_random_model
from tests.nodes import Nodes
from tests.pipeline.users_folder import harbour, lamp

DATA = ["data", "blocksworld", "--count", "12", "--val", "2", "--test", "3", "--set", "blocks=3..5"]
CONFIG = """
memory_limit = "2G"
[[problems]]
domain = "blocksworld"
count = 3
ranges = ["blocks=3"]
[[runs]]
label = "oclgen"
method = "oclgen"
model = "{model}"
time_limits = ["120s"]
iterations = 10
[[runs]]
label = "lama-first"
method = "lama-first"
time_limits = ["120s"]
[[estimates]]
model = "{model}"
"""
TIMED = {"seconds", "trace", "search_seconds"}


def oclgen(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "oclgen", *arguments], stderr=subprocess.PIPE)


def rows(folder: Path) -> dict[int, tuple[str, str, str]]:
    found = list(dataset.open_dataset(folder).rows())
    assert len({row.id for row in found}) == len(found)
    return {row.id: (row.split, row.fingerprint, row.plan) for row in found}


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set, made in processes."""
    folder = tmp_path_factory.mktemp("quiet")
    with oclgen(*DATA, "--out", str(folder), "--workers", "2") as made:
        assert made.wait() == 0
    return folder


def test_data_survives_the_loss_of_a_node_and_of_its_driver(nodes: Nodes, quiet: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    nodes.complete()
    command = [*DATA, "--out", str(out), "--cluster", nodes.address]
    with oclgen(*command) as driver:
        await_rows(out, 2)
        nodes.kill(next(iter(nodes.working)))
        await_rows(out, 5)
        driver.send_signal(signal.SIGKILL)
    await_end_of_all_in(out)
    stored = journal(out)
    assert 5 <= len(stored) < 12
    with oclgen(*command) as driver:
        assert driver.stderr is not None and driver.stderr.read() == b""
        assert driver.wait() == 0
    assert rows(out) == rows(quiet)


def await_rows(out: Path, count: int) -> None:
    while len(journal(out)) < count:
        time.sleep(0.05)


def journal(out: Path) -> set[int]:
    return {line["id"] for line in read_json_lines(out / "journal.jsonl")}


def await_end_of_all_in(folder: Path) -> None:
    """Teachers work in the data set's folder; they must end with the driver."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if not any(str(folder) in place for place in map(working_folder, psutil.process_iter())):
            return
        time.sleep(0.2)
    pytest.fail("a teacher lives on")


def working_folder(process: psutil.Process) -> str:
    try:
        return process.cwd()
    except psutil.Error:
        return ""


def test_a_benchmark_survives_the_loss_of_a_node(nodes: Nodes, cluster: RayCluster, tmp_path: Path) -> None:
    config_file = tmp_path / "config.toml"
    config_file.write_text(CONFIG.format(model=write_random_model(tmp_path / "model", "blocksworld")))
    config = read_config(config_file)
    killed = 0
    for _ in run_benchmark(config, config_file, tmp_path / "cluster", cluster):
        killed += nodes.kill_first(cluster)
    assert killed == 1
    for progress in run_benchmark(config, config_file, tmp_path / "quiet", 1):
        assert progress.broken == 0
    found = records(tmp_path / "cluster")
    assert {name: outcome(line) for name, line in found.items()} == {
        name: outcome(line) for name, line in records(tmp_path / "quiet").items()
    }
    runs = [line for line in found.values() if line["kind"] == "run"]
    assert all(line["node"] == os.uname().nodename and line["cores"] == 1 for line in runs)
    assert all(isinstance(line["load"], float) and isinstance(line["disturbed"], bool) for line in runs)


def records(folder: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    return {line["id"]: line for line in lines}


def outcome(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line.get(name) for name in ("label", "problem", "outcome", "plan", "ending", "estimate"))


def test_improvement_survives_the_loss_of_a_node(nodes: Nodes, cluster: RayCluster, tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    model = make_model(tmp_path / "model", data)
    settings = tiny(data, "n_loop=1")
    killed = 0
    for _ in improve(settings, tmp_path / "cluster", model, cluster):
        killed += nodes.kill_first(cluster)
    assert killed == 1
    list(improve(settings, tmp_path / "quiet", model, 1))
    for name in ("iteration-0/evaluation.jsonl", "iteration-1/searches.jsonl", "iteration-1/evaluation.jsonl"):
        assert untimed(tmp_path / "cluster" / name) == untimed(tmp_path / "quiet" / name)


def untimed(path: Path) -> list[dict[str, Any]]:
    lines = sorted(read_json_lines(path), key=lambda line: int(line["problem"]))
    assert lines and len({line["problem"] for line in lines}) == len(lines)
    return [{name: value for name, value in line.items() if name not in TIMED} for line in lines]


@pytest.mark.slow
def test_learning_survives_the_loss_of_a_node(
    nodes: Nodes, cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_EPOCHS", 4.0)
    monkeypatch.setattr(tuning, "MOST_SECONDS", 1.0)
    monkeypatch.setattr(loops.Improver, "planned", lambda _self, number, _left: 6.0 if number == 1 else None)
    folder = harbour(tmp_path / "user", 12)
    shutil.rmtree(folder / "training_plans")  # so that there is work for a teacher
    said: list[str] = []
    killed: list[bool] = []

    def say(line: str) -> None:
        said.append(line)
        killed.append(not any(killed) and nodes.kill_first(cluster))

    assert learn(LearnRequest(str(folder), tmp_path / "model", 1200.0, cluster, 0, 0.0), say)
    assert any(killed)
    assert any("0 without a plan" in line for line in said)
    work = tmp_path / "model" / "work"
    for name in ("loop-1/searches.jsonl", "evaluation.jsonl"):
        lines = [(line["problem"], line.get("method")) for line in read_json_lines(work / name)]
        assert lines and len(set(lines)) == len(lines)
    assert (work / "loop-1" / "outcome.json").exists()


def test_learn_starts_a_cluster_of_its_own(tmp_path: Path) -> None:
    folder = lamp(tmp_path / "lamp", dark="lit")
    out = tmp_path / "model"
    with oclgen("learn", str(folder), "--time", "10s", "--out", str(out), "--cluster", "auto", "--workers", "1") as run:
        assert run.stderr is not None and run.stderr.read() == b""
        assert run.wait() == 0
    assert (out / "summary.json").exists()


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with oclgen(*DATA, "--out", str(tmp_path), "--cluster", "nowhere") as driver:
        assert driver.stderr is not None
        assert driver.stderr.read().startswith(b"oclgen: no Ray cluster at nowhere: ")
        assert driver.wait() == 36
