"""Training throughput beside a plain transformers `Trainer`: same GPT-2, same plans, same threads, one run.

    python -m benchmarks.train [--data DIR] [--steps 20] [--rounds 3] [--out FILE.json]

Both sides train the `words` policy on Blocksworld (3 to 25 blocks, windows of 24 actions). The Trainer does what its
documentation shows: tokenised examples in random order, padded to the longest of their batch, labels only on the plan.
Rounds alternate, and seconds are of processor time, so other work on the machine hits both sides alike. Also printed:
the share of a step that batch preparation takes, for this model and for the `relational` one that configs/cpu
trains; it should stay below 5 %.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
from transformers.utils import logging

from oclgen.data.examples.batches import Batch
from oclgen.data.examples.words import WordsExamples
from oclgen.encoding.vocabulary import ACTIONS
from oclgen.learn.distributed import World
from oclgen.learn.networks.objectives import targets, tokens
from oclgen.learn.settings import Data, Model, Optimizer, Run, Schedule, TrainingSettings, read_settings
from oclgen.learn.sources import open_sources
from oclgen.learn.trainer import Trainer as OwnTrainer
from tests.data.toy_data import make_dataset

LAYERS, HEADS, WIDTH = 4, 4, 128
PROMPT, PLAN, WINDOW = 256, 80, 24
BATCH = 48
IGNORED = -100


def settings(data: Path, encoding: str, optimizer: str, batch_tokens: int) -> TrainingSettings:
    model = Model(encoding, LAYERS, HEADS, WIDTH, 4 * WIDTH, PROMPT, PLAN)
    source = Data(str(data), "blocksworld", window=WINDOW, shuffle_names=True, batch_tokens=batch_tokens)
    return TrainingSettings("policy", model, source, Optimizer(optimizer), Schedule(steps=10**6), Run(device="cpu"))


def relational_settings(data: Path) -> TrainingSettings:
    """As configs/cpu/relational-blocksworld.toml has them, but endless."""
    path = Path(__file__).parent.parent / "configs" / "cpu" / "relational-blocksworld.toml"
    return read_settings(path, "relational", [f"data.path={data}", "schedule.time=''", f"schedule.steps={10**6}"])


class Own:
    """Our loop's step, as `oclgen train` runs it."""

    def __init__(self, recipe: TrainingSettings, folder: Path) -> None:
        world = World(0, 1, torch.device("cpu"))
        self.trainer = OwnTrainer(recipe, folder, open_sources(recipe, world), world, None)
        self.preparing = self.total = 0.0

    def steps(self, number: int) -> tuple[int, float]:
        """Tokens trained on, and processor seconds."""
        trained, begun = 0, time.process_time()
        for _ in range(number):
            start = time.process_time()
            following, group = next(self.trainer.groups())
            self.preparing += time.process_time() - start
            self.trainer.step(group, sum(map(targets, group)))
            self.trainer.progress.epoch, self.trainer.progress.index = following
            trained += sum(map(tokens, group))
        self.total += time.process_time() - begun
        return trained, time.process_time() - begun


def sequences(batches: Iterator[Batch]) -> list[dict[str, list[int]]]:
    """The same examples as the Trainer wants them."""
    examples = []
    for batch in batches:
        for prompt, length, plan, steps in zip(*batch.values(), strict=True):
            head = [*prompt[:length, 0].tolist(), ACTIONS]
            tail = plan[:steps].tolist()
            examples.append({"input_ids": head + tail, "labels": [IGNORED] * len(head) + tail})
    return examples


def collate(examples: list[dict[str, list[int]]]) -> dict[str, Tensor]:
    longest = max(len(example["input_ids"]) for example in examples)

    def padded(name: str, value: int) -> Tensor:
        return torch.tensor([e[name] + [value] * (longest - len(e[name])) for e in examples])

    ids = padded("input_ids", 0)
    mask = torch.tensor([[1] * len(e["input_ids"]) + [0] * (longest - len(e["input_ids"])) for e in examples])
    return {"input_ids": ids, "labels": padded("labels", IGNORED), "attention_mask": mask}


class Clock(TrainerCallback):  # type: ignore[misc]
    """Processor time at the end of each step."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.ends.append(time.process_time())


class Theirs:
    """transformers' GPT-2 in transformers' Trainer."""

    def __init__(self, examples: list[dict[str, list[int]]], vocabulary: int, folder: Path) -> None:
        config = GPT2Config(
            vocab_size=vocabulary, n_positions=PROMPT + PLAN, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS
        )
        config.resid_pdrop = config.embd_pdrop = config.attn_pdrop = 0.0
        self.model, self.examples, self.folder = GPT2LMHeadModel(config), examples, folder

    def steps(self, number: int) -> tuple[int, float]:
        arguments = TrainingArguments(
            str(self.folder),
            per_device_train_batch_size=BATCH,
            max_steps=number + 1,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            dataloader_pin_memory=False,
        )
        clock, seen = Clock(), []

        def counted(examples: list[dict[str, list[int]]]) -> dict[str, Tensor]:
            seen.append(sum(len(example["input_ids"]) for example in examples))
            return collate(examples)

        trainer = Trainer(self.model, arguments, counted, self.examples, callbacks=[clock])
        trainer.train()
        return sum(seen[1 : number + 1]), clock.ends[-1] - clock.ends[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a Blocksworld data set (default: one with naive plans is made)")
    parser.add_argument("--instances", type=int, default=600)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = options.data or make_dataset(folder / "data", options.instances, blocks="3..25")
        result = compare(data, folder, options.steps, options.rounds)
    print(json.dumps(result, indent=2))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


def compare(data: Path, folder: Path, steps: int, rounds: int) -> dict[str, Any]:
    probe = Own(settings(data, "words", "adamw", 10**6), folder)
    training = probe.trainer.sources.training
    assert isinstance(training, WordsExamples)
    theirs = Theirs(sequences(training.validation()), training.vocabulary.size, folder)
    mean = sum(len(example["input_ids"]) for example in theirs.examples) / len(theirs.examples)
    ours = Own(settings(data, "words", "adamw", int(BATCH * mean)), folder)
    relational = Own(relational_settings(data), folder)
    own = {"words": ours, "relational": relational}
    sides = {"trainer": theirs.steps, **{f"oclgen_{name}": side.steps for name, side in own.items()}}
    totals = {name: [0.0, 0.0] for name in sides}
    for side in sides.values():
        side(2)
    for _ in range(rounds):
        for name, side in sides.items():
            trained, seconds = side(steps)
            totals[name] = [totals[name][0] + trained, totals[name][1] + seconds]
    speed = {name: trained / seconds for name, (trained, seconds) in totals.items()}
    return {
        "tokens_per_second": {name: round(value) for name, value in speed.items()},
        "times_the_trainer": round(speed["oclgen_words"] / speed["trainer"], 2),
        "preparation_share": {name: round(side.preparing / side.total, 4) for name, side in own.items()},
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


if __name__ == "__main__":
    main()
