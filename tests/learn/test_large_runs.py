"""What large runs need, for every kind of network: micro-batches, bfloat16, recomputed activations, many processes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from oclgen.data.examples.batches import Position
from oclgen.learn.distributed import World
from oclgen.learn.networks.objectives import targets
from oclgen.learn.settings import TrainingSettings, read_settings
from oclgen.learn.sources import open_sources
from oclgen.learn.train import train
from oclgen.learn.trainer import Trainer
from tests.data.toy_data import make_dataset

CONFIGS = Path(__file__).parent.parent.parent / "configs"
RECIPES = {
    "policy": CONFIGS / "smoke" / "policy-blocksworld.toml",
    "heuristic": CONFIGS / "smoke" / "heuristic-blocksworld.toml",
    "relational": CONFIGS / "cpu" / "relational-blocksworld.toml",
}
SMALL = ["model.width=16", "model.heads=2", "model.inner=32", "run.log_every=1", "run.validate_every=4"]
SMALL += ["schedule.time=''", "schedule.name=constant", "schedule.warmup=0", "generation.problems=0"]
SMALL += ["data.batch_tokens=0", "data.batch_examples=6", "run.threads=1", "run.device=cpu"]
WORDS = ["model.encoding=words", "model.max_prompt=200"]
ONE = World(0, 1, torch.device("cpu"))

each_kind = pytest.mark.parametrize("kind", RECIPES)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("toy") / "data", 60, blocks="3")


def overrides(kind: str, data: Path, *changes: str) -> list[str]:
    words = [] if kind == "relational" else WORDS
    return [*SMALL, *words, "schedule.steps=12", f"data.path={data}", *changes]


def settings(kind: str, data: Path, *changes: str) -> TrainingSettings:
    return read_settings(RECIPES[kind], kind, overrides(kind, data, *changes))


def trainer(kind: str, data: Path, *changes: str) -> Trainer:
    recipe = settings(kind, data, *changes)
    return Trainer(recipe, data, open_sources(recipe, ONE), ONE, None)


def gradients(of: Trainer, parts: int) -> list[Tensor]:
    """Of the first batch, in so many micro-batches."""
    group = [of.sources.training.batch(Position(), part, parts) for part in range(parts)]
    of.learner.differentiate(((part, batch) for part, batch in enumerate(group)), sum(map(targets, group)))
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in of.learner.parameters]


def same(left: list[Tensor], right: list[Tensor]) -> bool:
    return all(torch.allclose(one, other, rtol=1e-3, atol=1e-6) for one, other in zip(left, right, strict=True))


def losses(folder: Path, group: str = "train") -> list[float]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["group"] == group]


@each_kind
def test_micro_batches_give_the_gradient_of_the_whole_batch(data: Path, kind: str) -> None:
    run = trainer(kind, data)
    whole = gradients(run, 1)
    assert same(gradients(run, 3), whole) and not same([2 * each for each in whole], whole)


@each_kind
def test_a_step_of_several_batches_uses_as_many(data: Path, kind: str) -> None:
    following, group = next(trainer(kind, data, "run.accumulate=3").groups())
    assert following == Position(0, 3) and len(group) == 3


class Kept:
    """Counts the bytes that the forward pass keeps for the backward pass."""

    def __init__(self) -> None:
        self.bytes = 0

    def pack(self, tensor: Tensor) -> Tensor:
        self.bytes += tensor.numel() * tensor.element_size()
        return tensor


@each_kind
def test_recomputed_activations_give_the_same_gradients_and_are_not_kept(data: Path, kind: str) -> None:
    dropout = [] if kind == "relational" else ["model.dropout=0.1"]
    found, kept = [], []
    for recompute in ("false", "true"):
        run, counted = trainer(kind, data, "model.layers=4", f"run.recompute={recompute}", *dropout), Kept()
        with torch.autograd.graph.saved_tensors_hooks(counted.pack, lambda tensor: tensor):
            found.append(gradients(run, 1))
        kept.append(counted.bytes)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    assert kept[1] < 0.5 * kept[0]


@each_kind
@pytest.mark.parametrize("recompute", ["false", "true"])
def test_bfloat16_learns(data: Path, tmp_path: Path, kind: str, recompute: str) -> None:
    quick = ["schedule.steps=40", "data.offsets=false", "data.shuffle_names=false", "optimizer.lr=3e-3"]
    recipe = settings(
        kind, data, "run.precision=bfloat16", f"run.recompute={recompute}", "run.validate_every=99", *quick
    )
    train(recipe, tmp_path / "run")
    found = losses(tmp_path / "run")
    assert np.mean(found[-5:]) < 0.8 * np.mean(found[:5])


@pytest.mark.parametrize("processes", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_any_number_of_processes_shares_a_batch_without_rest(processes: int, size: int) -> None:
    found = [share for rank in range(size) for share in World(rank, size, ONE.device).shares(processes)]
    (whole,) = {total for _, total in found}
    assert sorted(part for part, _ in found) == list(range(whole)) and whole >= processes


def test_a_run_that_was_lost_before_its_first_save_begins_when_it_is_resumed(data: Path, tmp_path: Path) -> None:
    assert train(settings("policy", data, "schedule.steps=2"), tmp_path / "run", resume=True).step == 2


class Launched:
    """`oclgen train` in several processes, by torchrun."""

    def __init__(self, processes: int, kind: str, data: Path, out: Path, *changes: str, resume: bool = False) -> None:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        command += ["-m", "oclgen", "train", kind, "--config", str(RECIPES[kind]), "--out", str(out)]
        command += [*overrides(kind, data, *changes), *(["--resume"] if resume else [])]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def end(self) -> tuple[int, str, str]:
        out, errors = self.process.communicate(timeout=300)
        return self.process.returncode, out, errors


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "first", "second"), [("relational", 2, 1), ("policy", 1, 2)])
def test_another_number_of_processes_goes_on_with_the_same_batches(
    data: Path, tmp_path: Path, kind: str, first: int, second: int
) -> None:
    train(settings(kind, data, f"data.batch_examples={4 * first}"), tmp_path / "whole")
    batch, out = "data.batch_examples=4", tmp_path / "run"
    code, _, errors = Launched(first, kind, data, out, batch, "schedule.steps=5").end()
    assert code == 0, errors
    code, told, errors = Launched(second, kind, data, out, batch, resume=True).end()
    assert code == 0, errors
    assert f"batches stay as large as for the {first} processes" in told
    np.testing.assert_allclose(losses(out), losses(tmp_path / "whole"), rtol=1e-4)


def process_of(out: Path, rank: int) -> int:
    """The process with this rank among those that write to a folder."""
    for status in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment, words = status.read_bytes(), (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if str(out).encode() in words and f"\0RANK={rank}\0".encode() in b"\0" + environment:
            return int(status.parent.name)
    raise AssertionError(f"no process of rank {rank}")


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_the_run_with_one_line_and_resume_goes_on(data: Path, tmp_path: Path, rank: int) -> None:
    long = ["data.batch_examples=4", "run.save_every=0.01s", "schedule.steps=100000"]
    run = Launched(2, "policy", data, tmp_path / "run", *long)
    while not (tmp_path / "run" / "state.pt").exists():
        assert run.process.poll() is None
        time.sleep(0.1)
    os.kill(process_of(tmp_path / "run", rank), signal.SIGKILL)
    code, _, errors = run.end()
    lines = [line for line in errors.splitlines() if line.startswith("oclgen:")]
    assert code != 0 and len(lines) == 1
    assert "lost the connection" in lines[0] and "go on with the same command and --resume" in lines[0]
    saved = torch.load(tmp_path / "run" / "state.pt")["progress"]["step"]
    if rank == 1:
        assert re.search(rf"step {saved} is saved", lines[0])
    steps = f"schedule.steps={saved + 3}"
    train(settings("policy", data, "data.batch_examples=8", steps), tmp_path / "whole")
    code, _, errors = Launched(2, "policy", data, tmp_path / "run", *long[:2], steps, resume=True).end()
    assert code == 0, errors
    np.testing.assert_allclose(losses(tmp_path / "run"), losses(tmp_path / "whole"), rtol=1e-3)
