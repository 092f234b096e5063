"""`oclgen learn` on users' folders, whole."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from oclgen.cli import run as run_cli
from oclgen.cli.learning import learn as cli_learn
from oclgen.pipeline import learn, loops, off_plan, sizes, tuning
from oclgen.planner import solve
from oclgen.relational_checkpoint import load_relational
from tests.pipeline.users_folder import LAMP, harbour, lamp


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cli_learn, "process_age", lambda: 0.0)  # that of the tests is no part of a command's time
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def arguments(folder: Path, model: Path, seconds: str = "8s") -> list[str]:
    return ["learn", str(folder), "--time", seconds, "--out", str(model), "--workers", "1"]


@pytest.mark.slow
def test_a_folder_becomes_a_model_that_solve_can_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, model = harbour(tmp_path / "user", 20), tmp_path / "model"
    assert run_cli(arguments(folder, model)) == 0
    shown = capsys.readouterr()
    assert not shown.err
    assert re.search(r"^plan for 8s.*training \d+s", shown.out, re.MULTILINE)
    assert re.search(r"^oclgen +\d of \d ", shown.out, re.MULTILINE)
    assert f"next: oclgen solve --model {model} {folder}/domain.pddl PROBLEM" in shown.out
    assert load_relational(model / "relational").settings.max_plan == 73
    problem = folder / "training" / "easy" / "p5.pddl"
    settings = {"decoding": "applicable"}
    result = solve(folder / "domain.pddl", problem, model=model, iterations=3, time_limit=None, settings=settings)
    assert result.counters.evaluated > 0
    summary = json.loads((model / "summary.json").read_text())
    assert {result["method"] for result in summary} <= {"best-of-n", "oclgen"} and summary


@pytest.mark.slow
def test_one_problem_without_objects_beside_an_unsolvable_one_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lamp(tmp_path / "lamp", dark="lit", never="broken")
    assert run_cli(arguments(folder, tmp_path / "model", "4s")) == 0
    shown = capsys.readouterr().out
    assert "1 to learn from, 0 to choose among models, 0 to measure; 0 without a plan, 1 unsolvable" in shown
    assert "with so few problems none was held out" in shown


@pytest.mark.slow
def test_a_loop_of_self_improvement_is_kept_unless_it_is_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sizes, "MOST_EPOCHS", 8.0)
    monkeypatch.setattr(off_plan, "MOST_STATES", 1)
    monkeypatch.setattr(tuning, "MOST_SECONDS", 1.0)
    monkeypatch.setattr(loops.Improver, "planned", lambda _self, number, _left: 6.0 if number == 1 else None)
    folder, model = harbour(tmp_path / "user", 12), tmp_path / "model"
    assert run_cli(arguments(folder, model, "20m")) == 0
    outcome = json.loads((model / "work" / "loop-1" / "outcome.json").read_text())
    kept = (model / "work" / "loop-1" / "model" / "relational" / "weights.safetensors").read_bytes()
    before = (model / "work" / "model" / "relational" / "weights.safetensors").read_bytes()
    assert kept != before
    installed = (model / "relational" / "weights.safetensors").read_bytes()
    assert installed == (kept if outcome["kept"] else before)
    shown = capsys.readouterr().out
    assert re.search(r"^loop 1: .* \(before: .*\): (not )?kept", shown, re.MULTILINE)
    assert re.search(r"^off-plan states: \d+ solved", shown, re.MULTILINE)
    chosen = re.search(r"^search settings: decoding (\w+), .*: \d of 1 solved", shown, re.MULTILINE)
    assert chosen and f'decoding = "{chosen[1]}"' in (model / "solve.toml").read_text()


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, model = harbour(tmp_path / "user", 12), tmp_path / "model"
    command = [sys.executable, "-m", "oclgen", *arguments(folder, model, "10s")]
    metrics = model / "work" / "training" / "metrics.jsonl"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not metrics.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    plans = (model / "work" / "splits.json").stat().st_mtime_ns
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (model / "work" / "splits.json").stat().st_mtime_ns == plans
    assert (model / "relational").is_dir() and (model / "summary.json").exists()


@pytest.mark.slow
def test_more_time_goes_on_and_much_more_trains_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, model = harbour(tmp_path / "user", 12), tmp_path / "model"
    weights, trained = model / "relational" / "weights.safetensors", model / "work" / "training" / "settings.json"
    assert run_cli(arguments(folder, model, "6s")) == 0
    installed, settings = weights.read_bytes(), trained.read_text()
    capsys.readouterr()
    assert run_cli(arguments(folder, model, "9s")) == 0
    assert "trained again" not in capsys.readouterr().out
    assert (weights.read_bytes(), trained.read_text()) == (installed, settings)
    assert run_cli(arguments(folder, model, "20s")) == 0
    found = re.search(r"^trained again: \d of 1 solved.* \(before: .*\): (not )?kept", capsys.readouterr().out, re.M)
    assert found and trained.read_text() != settings
    assert (weights.read_bytes() == installed) == bool(found[1])
    assert json.loads((model / "summary.json").read_text())


def test_problems_that_cannot_be_solved_end_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lamp(tmp_path / "lamp", never="broken")
    assert run_cli(arguments(folder, tmp_path / "model")) == 36
    [line] = capsys.readouterr().err.splitlines()
    assert "none of the problems has a plan, as the teacher proved (1 tried); look at their goals" in line


def test_a_folder_of_broken_files_ends_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lamp(tmp_path / "lamp")
    (folder / "training" / "rubbish.pddl").write_text("rubbish")
    assert run_cli(arguments(folder, tmp_path / "model")) == 36
    shown = capsys.readouterr()
    assert "passed over: " in shown.out
    assert len(shown.err.splitlines()) == 1 and "no problem that can be read" in shown.err


def test_a_missing_folder_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(arguments(tmp_path / "nowhere", tmp_path / "model")) == 36
    shown = capsys.readouterr()
    assert (shown.out, len(shown.err.splitlines())) == ("", 1)
    assert not (tmp_path / "model").exists()


def test_another_domain_for_the_same_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "model" / "work" / "data"
    data.mkdir(parents=True)
    (data / "domain.pddl").write_text(LAMP)
    assert run_cli(arguments(harbour(tmp_path / "harbour", 1), tmp_path / "model")) == 36
    [line] = capsys.readouterr().err.splitlines()
    assert f"{data / 'domain.pddl'}: differs from the domain asked for; give another folder" in line


@pytest.mark.slow
def test_corrected_problems_begin_anew_and_later_ones_are_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, model = lamp(tmp_path / "lamp", dark="broken"), tmp_path / "model"
    assert run_cli(arguments(folder, model)) == 36
    problem = folder / "training" / "dark.pddl"
    problem.write_text(problem.read_text().replace("broken", "lit"))
    assert run_cli(arguments(folder, model, "10s")) == 0
    assert "another --out" not in capsys.readouterr().out
    shutil.copyfile(problem, folder / "training" / "late.pddl")
    assert run_cli(arguments(folder, model, "10s")) == 0
    assert "1 files when this was begun, 2 now; another --out learns from all of them" in capsys.readouterr().out


def test_a_full_disk_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere/part.parquet")

    monkeypatch.setattr(learn, "gather", full)
    assert run_cli(arguments(lamp(tmp_path / "lamp", dark="lit"), tmp_path / "model")) != 0
    [line] = capsys.readouterr().err.splitlines()
    assert "somewhere/part.parquet: No space left on device; nothing that was done is lost" in line
