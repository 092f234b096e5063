"""The loop: exact resumption, clean stops, divergence, time as length, several processes."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from oclgen.checkpoint import load_checkpoint
from oclgen.cli import run as run_cli
from oclgen.errors import InputError, OclgenError
from oclgen.learn import train as verb
from oclgen.learn import trainer as loop
from oclgen.learn.export import load_state
from oclgen.learn.settings import TrainingSettings, read_settings
from oclgen.learn.train import train
from oclgen.learn.trainer import Trainer
from tests.data.toy_data import make_dataset

SMOKE = Path(__file__).parent.parent.parent / "configs" / "smoke"
SMALL = ["model.layers=1", "model.width=16", "model.inner=32", "run.log_every=1", "run.validate_every=4"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("toy") / "data", 60, blocks="3")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def settings(data: Path, kind: str = "policy", *overrides: str) -> TrainingSettings:
    quick = ["schedule.steps=12", "data.batch_tokens=300", *SMALL]
    if kind == "policy":
        quick.append("generation.problems=0")
    recipe = SMOKE / f"{kind}-blocksworld.toml"
    return read_settings(recipe, kind, [*quick, f"data.path={data}", *overrides])


def losses(folder: Path, group: str = "train") -> list[float]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["group"] == group]


def at_step(monkeypatch: pytest.MonkeyPatch, step: int, action: Callable[[], None]) -> None:
    """Do something after a step of the next training."""
    ordinary = Trainer.after_step

    def after_step(trainer: Trainer) -> None:
        ordinary(trainer)
        if trainer.progress.step == step:
            action()

    monkeypatch.setattr(Trainer, "after_step", after_step)


@pytest.mark.parametrize("kind", ["policy", "heuristic"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_resumes_as_if_nothing_had_happened(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, number: signal.Signals
) -> None:
    recipe = settings(data, kind, "model.dropout=0.1", "run.log_every=2")
    whole = train(recipe, tmp_path / "whole")
    with monkeypatch.context() as patch:
        at_step(patch, 5, lambda: os.kill(os.getpid(), number))
        stopped = train(recipe, tmp_path / "parts")
    assert (stopped.reason, stopped.step, stopped.signal) == ("interrupted", 5, number)
    resumed = train(recipe, tmp_path / "parts", resume=True)
    assert dataclasses.replace(resumed, signal=0) == whole
    for group in ("train", "validation"):
        assert losses(tmp_path / "parts", group) == losses(tmp_path / "whole", group)
    first, second = (load_state(tmp_path / name / "state.pt")["network"] for name in ("whole", "parts"))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_signal_as_a_run_finishes_is_told(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = Trainer.finish

    def finish(trainer: Trainer, reason: str) -> str:
        signal.raise_signal(signal.SIGTERM)
        return ordinary(trainer, reason)

    monkeypatch.setattr(Trainer, "finish", finish)
    outcome = train(settings(data, "heuristic", "schedule.steps=2"), tmp_path / "run")
    assert (outcome.reason, outcome.signal, outcome.told_to_end) == ("finished", signal.SIGTERM, True)


def test_a_signal_while_examples_are_encoded_ends_the_run_at_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encoding(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it went on")

    monkeypatch.setattr(verb, "open_sources", encoding)
    with pytest.raises(KeyboardInterrupt):
        train(settings(data), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_only_the_verb_that_has_resume_speaks_of_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_step(monkeypatch, 5, lambda: os.kill(os.getpid(), signal.SIGTERM))
    train(settings(data), tmp_path / "run")
    assert "interrupted at step 5" in (shown := capsys.readouterr().out) and "--resume" not in shown
    command = ["train", "policy", "--config", str(tmp_path / "run" / "settings.json"), "--out", str(tmp_path / "other")]
    assert run_cli(command) == 128 + signal.SIGTERM
    assert capsys.readouterr().out.endswith("go on with --resume\n")


def test_what_a_killed_run_wrote_after_its_last_state_is_written_again(data: Path, tmp_path: Path) -> None:
    recipe = settings(data)
    train(recipe, tmp_path / "whole")
    folder = tmp_path / "killed"
    train(dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, steps=6)), folder)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"group": "train", "step": 7, "loss": 99.0}\n{"group": "tr')
    resumed = train(dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, steps=8)), folder, True)
    assert resumed.step == 8
    assert len(losses(folder)) == 8 and 99.0 not in losses(folder)


@pytest.mark.parametrize("kind", ["policy", "heuristic"])
def test_training_learns(data: Path, tmp_path: Path, kind: str) -> None:
    recipe = settings(data, kind, "schedule.steps=60", "data.shuffle_names=false", "data.offsets=false")
    outcome = train(recipe, tmp_path / "run")
    found = losses(tmp_path / "run")
    assert outcome.reason == "finished"
    assert np.mean(found[-5:]) < 0.6 * np.mean(found[:5])


def test_the_best_checkpoint_is_the_one_with_the_lowest_validation_loss(data: Path, tmp_path: Path) -> None:
    outcome = train(settings(data), tmp_path / "run")
    metrics = json.loads((tmp_path / "run" / "best" / "metrics.json").read_text())
    assert metrics["validation"]["loss"] == outcome.best_loss == min(losses(tmp_path / "run", "validation"))
    assert load_checkpoint(tmp_path / "run" / "best", "policy").settings.layers == 1
    assert list((tmp_path / "run" / "events").iterdir())


@pytest.mark.parametrize("kind", ["policy", "heuristic"])
def test_divergence_stops_the_run_and_keeps_the_batch(data: Path, tmp_path: Path, kind: str) -> None:
    recipe = settings(data, kind, "optimizer.name=adamw", "optimizer.lr=1e30", "schedule.warmup=0")
    with pytest.raises(OclgenError, match=r"step \d+: the loss is .*the batch is in .*diverged-step-\d+-rank-0.npz"):
        train(recipe, tmp_path / "run")
    (path,) = (tmp_path / "run").glob("diverged-*.npz")
    assert np.load(path)["prompt_0"].ndim == 3


class SteppingClock:
    """A clock on which every look takes a hundredth of a second."""

    def __init__(self) -> None:
        self.ticks = count()

    def monotonic(self) -> float:
        return next(self.ticks) / 100


def test_a_run_by_time_decides_its_length_when_its_decay_begins(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "time", SteppingClock())
    recipe = settings(data, "policy", "schedule.steps=0", "schedule.time=3s", "run.save_every=1d")
    outcome = train(recipe, tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    (decision,) = [line for line in lines if line["group"] == "schedule"]
    rates = [line["rate"] for line in lines if line["group"] == "train"]
    assert outcome.reason == "finished" and outcome.step == decision["total_steps"]
    assert 0.55 < decision["step"] / outcome.step < 0.7
    assert rates[decision["step"] - 1] == 1.0 and rates[-1] < 0.15


def test_a_finished_run_by_time_goes_on_when_it_is_given_more(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "time", SteppingClock())
    first = train(settings(data, "policy", "schedule.steps=0", "schedule.time=2s"), tmp_path / "run")
    longer = settings(data, "policy", "schedule.steps=0", "schedule.time=5s")
    second = train(longer, tmp_path / "run", resume=True)
    assert second.reason == "finished" and second.step > 1.5 * first.step
    assert train(longer, tmp_path / "run", resume=True).step == second.step


def test_a_time_limit_stops_a_run_by_steps_which_then_goes_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "time", SteppingClock())
    stopped = train(settings(data), tmp_path / "run", max_time=0.4)
    assert stopped.reason == "time" and 0 < stopped.step < 12
    assert train(settings(data), tmp_path / "run", resume=True).reason == "finished"
    train(settings(data), tmp_path / "whole")
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")


def test_epochs_count_passes_over_the_plans(data: Path, tmp_path: Path) -> None:
    by_examples = ["data.batch_tokens=0", "data.batch_examples=12"]
    recipe = settings(data, "policy", "schedule.steps=0", "schedule.epochs=2.0", *by_examples)
    assert train(recipe, tmp_path / "run").step == 2 * 48 // 12


def test_lower_precision_and_accumulation_stay_near_full_precision(data: Path, tmp_path: Path) -> None:
    plain = settings(data, "policy", "run.accumulate=2", "schedule.steps=6")
    train(plain, tmp_path / "float32")
    train(dataclasses.replace(plain, run=dataclasses.replace(plain.run, precision="bfloat16")), tmp_path / "bfloat16")
    np.testing.assert_allclose(losses(tmp_path / "float32"), losses(tmp_path / "bfloat16"), rtol=0.02)


def test_finetuning_starts_from_a_checkpoint(data: Path, tmp_path: Path) -> None:
    base = train(settings(data, "policy", "schedule.steps=40"), tmp_path / "base")
    start = f"run.initial={tmp_path / 'base' / 'best'}"
    tuned = train(settings(data, "policy", start, "schedule.steps=4", "optimizer.hidden_lr=1e-5"), tmp_path / "tuned")
    assert tuned.best_loss < base.best_loss + 0.3
    with pytest.raises(InputError, match="another shape"):
        train(settings(data, "policy", start, "model.layers=2"), tmp_path / "other")


def test_a_finished_run_is_not_overwritten(data: Path, tmp_path: Path) -> None:
    train(settings(data, "policy", "schedule.steps=2"), tmp_path / "run")
    with pytest.raises(InputError, match="holds a run already"):
        train(settings(data), tmp_path / "run")
    with pytest.raises(InputError, match=r"model.layers cannot change"):
        train(settings(data, "policy", "model.layers=2"), tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.max_prompt=5", r"longest prompt has \d+ words; raise model.max_prompt \(5\)"),
        ("model.max_plan=5", r"longest plan to learn has \d+ tokens; raise model.max_plan \(5\)"),
        ("data.path=/nowhere", "not a data set"),
        ("data.domain=nowhere", "no domain nowhere"),
        ("data.vocabulary=/nowhere", "/nowhere: No such file"),
        ("run.initial=/nowhere", "No such file"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_step(
    data: Path, tmp_path: Path, override: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train(settings(data, "policy", override), tmp_path / "run")


def test_the_command_prints_plain_lines_and_draws_curves(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", "heuristic", "--config", str(SMOKE / "heuristic-blocksworld.toml"), "--data", str(data)]
    arguments += ["--out", str(tmp_path / "run"), "--plot", *SMALL, "schedule.steps=8"]
    assert run_cli(arguments) == 0
    shown = capsys.readouterr()
    assert "finished 8 steps" in shown.out and "\x1b" not in shown.out and not shown.err
    assert (tmp_path / "run" / "curves.png").stat().st_size > 1000
    assert run_cli([*arguments, "--resume"]) == 0
    assert run_cli(["train", "heuristic", "--resume", "--out", str(tmp_path / "run"), "schedule.steps=9"]) == 0
    assert "changed since the run began: schedule.steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "policy"],
        ["train", "policy", "--resume"],
        ["train", "heuristic", "--config", str(SMOKE / "policy-blocksworld.toml")],
        ["train", "policy", "--config", "/nowhere.toml"],
        ["train", "policy", "--config", str(SMOKE / "policy-blocksworld.toml"), "model.depth=3"],
        ["train", "policy", "--config", str(SMOKE / "policy-blocksworld.toml")],
    ],
)
def test_bad_arguments_are_one_line_and_code_36(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_cli(arguments) == 36
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_two_processes_learn_like_one_with_the_doubled_batch(data: Path, tmp_path: Path) -> None:
    overrides = [*SMALL, f"data.path={data}", "generation.problems=0", "schedule.steps=10", "data.batch_tokens=0"]
    recipe = SMOKE / "policy-blocksworld.toml"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "oclgen"]
    command += ["train", "policy", "--config", str(recipe), "--out", str(tmp_path / "two"), *overrides]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*command, "data.batch_examples=3"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    train(read_settings(recipe, "policy", [*overrides, "data.batch_examples=6"]), tmp_path / "one")
    for group in ("train", "validation"):
        np.testing.assert_allclose(losses(tmp_path / "two", group), losses(tmp_path / "one", group), rtol=1e-4)


def test_the_generation_metric_is_taken_from_the_newest_weights(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def completion(folder: Path, tasks: Any, **_: Any) -> dict[str, float]:
        seen.append((load_checkpoint(folder, "policy").weights["norm.bias"].sum(), len(tasks)))
        return {"completion": 0.5}

    monkeypatch.setitem(sys.modules, "oclgen.learn.generation", SimpleNamespace(completion=completion))
    recipe = settings(data, "policy", "generation.problems=2", "generation.every=2", "run.validate_every=3")
    train(recipe, tmp_path / "run")
    assert [tasks for _, tasks in seen] == [2, 2]
    assert seen[0] != seen[1]
    metrics = json.loads((tmp_path / "run" / "last" / "metrics.json").read_text())
    assert metrics["generation"] == {"completion": 0.5, "step": 12}
