"""Memory and time of a training step with and without `run.recompute`, for every kind of network.

    python -m benchmarks.activations [--layers 12] [--width 768] [--examples 8] [--kind policy ...]

One batch of Blocksworld (20 blocks), on the CPU, each in a process of its own. Memory is what the step needs at most
beyond a step with a single example; seconds are of processor time.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from oclgen.data.examples.batches import Position
from oclgen.learn.distributed import World
from oclgen.learn.networks.objectives import targets, tokens
from oclgen.learn.settings import Data, Model, Run, Schedule, TrainingSettings
from oclgen.learn.sources import open_sources
from oclgen.learn.trainer import Trainer
from tests.data.toy_data import make_dataset

KINDS = ("policy", "heuristic", "relational")
GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536"}
"""Makes glibc give freed arrays back at once; without, holes between them hide what is not kept."""


def settings(kind: str, data: Path, options: argparse.Namespace) -> TrainingSettings:
    relational = kind == "relational"
    width, heads = options.width, max(1, options.width // 64)
    encoding = "relational" if relational else "words"
    model = Model(encoding, options.layers, heads, width, 4 * width, 1000, 1000, 0 if relational else 1000)
    source = Data(str(data), "blocksworld", window=24 if relational else 0, batch_examples=options.examples)
    run = Run(device="cpu", threads=1, recompute=options.recompute)
    return TrainingSettings(kind, model, source, schedule=Schedule(steps=1), run=run)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(kind: str, data: Path, options: argparse.Namespace) -> dict[str, float]:
    recipe, world = settings(kind, data, options), World(0, 1, torch.device("cpu"))
    torch.set_num_threads(1)
    trainer = Trainer(recipe, data, open_sources(recipe, world), world, None)
    _, group = next(trainer.groups())
    smallest = trainer.sources.training.batch(Position(), 0, options.examples)
    trainer.learner.differentiate([(0, smallest)], 1)  # memory of gradients and libraries
    before, started = peak_megabytes(), time.process_time()
    trainer.learner.differentiate(enumerate(group), sum(map(targets, group)))
    seconds = time.process_time() - started
    weights = sum(parameter.numel() for parameter in trainer.learner.parameters)
    return {
        "weights": weights,
        "tokens": sum(map(tokens, group)),
        "seconds": seconds,
        "megabytes": peak_megabytes() - before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", choices=KINDS, help="default: all")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--examples", type=int, default=8)
    parser.add_argument("--recompute", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.data:
        print(json.dumps(measure(options.kind[0], options.data, options)))
        return
    environment = os.environ | GIVEN_BACK
    with tempfile.TemporaryDirectory() as scratch:
        data = make_dataset(Path(scratch) / "data", 40, blocks="20")
        for kind in options.kind or KINDS:
            for extra in ([], ["--recompute"]):
                command = [sys.executable, "-m", "benchmarks.activations", "--kind", kind, "--data", str(data), *extra]
                command += [f"--{name}={getattr(options, name)}" for name in ("layers", "width", "examples")]
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
                found = json.loads(done.stdout)
                print(
                    f"{kind:10} {'recomputed' if extra else 'kept':10} {found['weights'] / 1e6:6.1f} M weights  "
                    f"{found['tokens']:7,.0f} tokens  {found['megabytes']:8,.0f} MB  {found['seconds']:6.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
