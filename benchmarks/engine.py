"""The inference engine against transformers, same weights, one thread, turn by turn in one run.

Policy: ten samples behind one prompt of 80 words, 200 new tokens each, temperature 1; `generate` against the engine.
Heuristic: 32 prompts of 80 words; `BertModel` against the engine. Shares are of the rate of a large matrix product on
one thread. Import and load are timed in fresh processes. A busy machine disturbs all of it: the ratios are medians.

    python benchmarks/engine.py [--repeats 5] [--json FILE]
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

from oclgen.checkpoint import FORMAT, Checkpoint, ModelSettings, tensor_shapes
from oclgen.encoding.vocabulary import ACTIONS, Pool, Symbol, Vocabulary
from oclgen.inference.kernel.binding import load_kernel
from oclgen.inference.words.heuristic_engine import NativeHeuristicEngine
from oclgen.inference.words.policy_engine import NativePolicyEngine

PROMPT, NEW, SAMPLES, STATES, MAX_COST = 80, 200, 10, 32, 150
VOCABULARY = Vocabulary(
    "benchmark",
    tuple(Symbol(f"operator{i}", 2) for i in range(4)),
    tuple(Symbol(f"predicate{i}", 2) for i in range(5)),
    (),
    (Pool(("object",), tuple(f"o{i}" for i in range(50)), False),),
    (),
)
LOAD = """
import sys, time
start = time.perf_counter()
from oclgen.inference.checkpoint_policy import checkpoint_policy
imported = time.perf_counter()
checkpoint_policy(sys.argv[1])
print(imported - start, time.perf_counter() - imported, time.process_time())
assert "torch" not in sys.modules
"""


@dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    heads: int
    ratio: float  # that the engine has to reach against `generate`

    def __str__(self) -> str:
        return f"{self.layers} x {self.width}"

    def row_operations(self, visible: float) -> float:
        """Floating point operations of one row through the blocks, with so many positions in sight."""
        return self.layers * (24 * self.width**2 + 4 * self.width * visible)

    def prompt_row_operations(self, visible: float) -> float:
        """Of one row of a prompt: the engine's last block only makes its keys, values and query."""
        return self.row_operations(visible) * (self.layers - 1) / self.layers + 6 * self.width**2


SHAPES = (Shape(4, 128, 4, 5.0), Shape(6, 256, 8, 3.0))


def checkpoint(shape: Shape, kind: str) -> Checkpoint:
    limits: dict[str, Any] = {"max_plan": NEW + 1} if kind == "policy" else {"max_cost": MAX_COST}
    settings = ModelSettings(
        kind, "words", shape.layers, shape.heads, shape.width, 4 * shape.width, max_prompt=PROMPT, **limits
    )
    rng = np.random.default_rng(0)
    weights: dict[str, Any] = {}
    for name, size in tensor_shapes(settings, VOCABULARY).items():
        weights[name] = rng.normal(1.0 if name.endswith(("norm.weight", "norm1.weight")) else 0.0, 0.02, size)
    return Checkpoint(
        Path("random"), settings, VOCABULARY, {name: array.astype(np.float32) for name, array in weights.items()}
    )


def load_tensors(model: torch.nn.Module, source: Checkpoint, names: Mapping[str, str], transposed: bool) -> None:
    """`names` maps their modules to ours; GPT-2 keeps its matrices the other way round."""
    tensors = model.state_dict()
    for theirs, ours in names.items():
        for kind in ("weight", "bias"):
            if f"{ours}.{kind}" in source.weights:
                array = source.weights[f"{ours}.{kind}"]
                turned = transposed and array.ndim == 2 and ".h." in theirs
                tensors[f"{theirs}.{kind}"].copy_(torch.tensor(array.T if turned else array))
    model.eval()


def gpt2(source: Checkpoint) -> GPT2LMHeadModel:
    settings = source.settings
    config = GPT2Config(
        vocab_size=VOCABULARY.size,
        n_positions=PROMPT + NEW + 1,
        n_embd=settings.width,
        n_layer=settings.layers,
        n_head=settings.heads,
        n_inner=settings.inner,
        bos_token_id=None,
        eos_token_id=None,
    )
    names = {"transformer.wte": "token", "transformer.wpe": "position", "transformer.ln_f": "norm"}
    parts = {"ln_1": "norm1", "attn.c_attn": "attention", "attn.c_proj": "projection"}
    parts |= {"ln_2": "norm2", "mlp.c_fc": "up", "mlp.c_proj": "down"}
    for i in range(settings.layers):
        names |= {f"transformer.h.{i}.{theirs}": f"block.{i}.{ours}" for theirs, ours in parts.items()}
    model = GPT2LMHeadModel(config)
    load_tensors(model, source, names, transposed=True)
    return model


def bert(source: Checkpoint) -> BertModel:
    """Only its time is compared, so its weights are its own."""
    settings = source.settings
    config = BertConfig(
        vocab_size=VOCABULARY.size,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.inner,
        max_position_embeddings=PROMPT,
    )
    return BertModel(config).eval()


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def matrix_rate() -> float:
    """Operations a second of a large product on one thread."""
    size = 1024
    a = torch.randn(size, size)
    return 2 * size**3 / min(seconds(lambda: a @ a) for _ in range(5))


def generate_with_engine(engine: NativePolicyEngine, prompt: "np.ndarray[Any, np.dtype[np.int32]]") -> None:
    rng = np.random.default_rng(0)
    session = engine.open([prompt], [SAMPLES], NEW)
    for step in range(NEW):
        tokens, _ = session.sample(rng.random(SAMPLES, np.float32), 1.0)
        if step < NEW - 1:
            session.feed(tokens)


def compare(
    theirs: Callable[[], object], ours: Callable[[], object], amount: int, operations: float, repeats: int
) -> dict[str, float]:
    """Amounts a second, best turn of each; the ratio is the median over turns taken side by side."""
    theirs(), ours()
    turns = []
    for _ in range(repeats):
        turns.append((seconds(theirs), seconds(ours), matrix_rate()))
    return {
        "transformers": amount / min(turn[0] for turn in turns),
        "engine": amount / min(turn[1] for turn in turns),
        "ratio": statistics.median(turn[0] / turn[1] for turn in turns),
        "share": statistics.median(operations / turn[1] / turn[2] for turn in turns),
        "matrix_gflops": max(turn[2] for turn in turns) / 1e9,
    }


def compare_policies(shape: Shape, repeats: int) -> dict[str, float]:
    source = checkpoint(shape, "policy")
    engine, model = NativePolicyEngine(source), gpt2(source)
    rng = np.random.default_rng(1)
    prompt = rng.integers(0, VOCABULARY.size, (PROMPT, 1), np.int32)
    sequence = torch.tensor(np.append(prompt[:, 0], ACTIONS), dtype=torch.long)
    check(engine, model, prompt, sequence)
    batch = sequence.expand(SAMPLES, -1)

    def generate() -> object:
        with torch.inference_mode():
            return model.generate(
                batch,
                attention_mask=torch.ones_like(batch),
                do_sample=True,
                top_k=0,
                min_new_tokens=NEW,
                max_new_tokens=NEW,
                pad_token_id=0,
            )

    rows = shape.row_operations(PROMPT + NEW / 2) + 2 * shape.width * VOCABULARY.size
    operations = SAMPLES * NEW * rows + PROMPT * shape.prompt_row_operations(PROMPT / 2)
    return compare(generate, lambda: generate_with_engine(engine, prompt), SAMPLES * NEW, operations, repeats)


def check(engine: NativePolicyEngine, model: GPT2LMHeadModel, prompt: Any, sequence: torch.Tensor) -> None:
    """Both must mean the same distribution."""
    with torch.inference_mode():
        expected = model(sequence[None]).logits[0, -1].softmax(-1).numpy()
    actual = engine.open([prompt], [1], 0).probabilities()[0]
    assert np.abs(actual - expected).max() < 1e-4, "the two models differ"


def compare_heuristics(shape: Shape, repeats: int) -> dict[str, float]:
    source = checkpoint(shape, "heuristic")
    engine, model = NativeHeuristicEngine(source), bert(source)
    rng = np.random.default_rng(2)
    prompts = [rng.integers(0, VOCABULARY.size, (PROMPT, 1), np.int32) for _ in range(STATES)]
    batch = torch.tensor(np.stack(prompts)[:, :, 0], dtype=torch.long)

    def encode() -> object:
        with torch.inference_mode():
            return model(batch)

    operations = STATES * PROMPT * shape.prompt_row_operations(PROMPT)
    return compare(encode, lambda: engine.distributions(prompts), STATES, operations, repeats)


def load_times(shape: Shape, repeats: int) -> dict[str, float]:
    """Seconds of import and load, and of CPU in all, of fresh processes; the quickest of each."""
    source = checkpoint(shape, "policy")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_file(dict(source.weights), folder / "weights.safetensors")
        (folder / "vocabulary.json").write_text(VOCABULARY.to_json())
        settings = {field: getattr(source.settings, field) for field in ModelSettings.__dataclass_fields__}
        (folder / "settings.json").write_text(json.dumps(settings | {"format": FORMAT}))
        command = [sys.executable, "-c", LOAD, str(folder)]
        outputs = [
            subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(repeats)
        ]
    quickest = [min(map(float, times)) for times in zip(*outputs, strict=True)]
    return dict(zip(("import", "load", "cpu"), quickest, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, Any] = {"machine": platform.processor(), "kernel": load_kernel().variant}
    print(f"{'':24}{'transformers':>14}{'engine':>10}{'ratio':>8}{'wanted':>8}{'share of matrix rate':>22}")
    for shape in SHAPES:
        rows = {"policy, tokens/s": compare_policies(shape, options.repeats)}
        rows["heuristic, states/s"] = compare_heuristics(shape, options.repeats)
        for name, row in rows.items():
            wanted = f">= {shape.ratio:.0f}" if name.startswith("policy") else ""
            print(
                f"{shape!s:8} {name:19}{row['transformers']:10.0f}{row['engine']:10.0f}{row['ratio']:8.1f}"
                f"{wanted:>8}{row['share']:12.0%} of {row['matrix_gflops']:.0f} GFLOPS"
            )
        times = load_times(shape, options.repeats)
        print(
            f"{shape!s:8} import {times['import']:.3f} s, load {times['load']:.3f} s (wanted: under 0.5 s together);"
            f" CPU of the whole process {times['cpu']:.3f} s"
        )
        result[str(shape)] = rows | {"seconds": times}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
