"""The relational engine against torch and transformers, same weights, one thread, turn by turn in one run.

Encoder: states of 25 blocks and of a 30-city Logistics problem, one at a time and 32 together; the network's eager
forward (its batch prepared beforehand) against the engine (from arrays of atoms on). Decoder: ten plans of 200 tokens
from one state; `generate` of a GPT-2 of equal width and depth, with a prompt as long as the state has rows. Growth: one
state of 10, 100 and 1,000 rows with three atoms a row, and the memory of a process that does all of it. Threads: wall
clock of two against one.

All but the last count CPU seconds of this process, so that other jobs disturb them less; rates are best turns, ratios
medians. Shares are of the rate of a large product in numpy; operations are those of the mathematics, atom by atom,
where the engine needs fewer.

    python benchmarks/relational_engine.py [--repeats 5] [--json FILE]
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported: the matrix rate is that of one thread

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from oclgen.encoding.distances import FAR
from oclgen.encoding.relational import NOISE, ProblemGraph, Schema, schema_of
from oclgen.inference.relational.atoms import Atoms
from oclgen.inference.relational.engine import RelationalEngine, Rows
from oclgen.learn.networks.relational import RelationalNetwork
from tests.inference.relational.relational_models import (
    draw_task,
    engine_of,
    graph_of,
    random_network,
    random_walk,
    torch_batch,
)

SIZES = {"width": 128, "heads": 4, "inner": 512, "relation": 64, "encoder_layers": 4, "decoder_layers": 2}
STATES, SAMPLES, NEW = 32, 10, 200
PROBLEMS = {
    "25 blocks": ("blocksworld", "blocks=25"),
    "30 cities": ("logistics", "cities=30", "city_size=4", "packages=30", "airplanes=5"),
}
ROWS = (10, 100, 1000)
MEMORY = """
import sys
import numpy as np
sys.path.insert(0, ".")
from oclgen.inference.relational.engine import RelationalEngine
from tests.inference.relational.relational_reference import COUNTS, Shape, random_atoms, random_problem, random_weights
rows, samples, length, *sizes = map(int, sys.argv[1:])
shape = Shape(*sizes, max_plan=length + 1)
engine = RelationalEngine(shape, COUNTS, random_weights(shape))
rng = np.random.default_rng(0)
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
print(peak())
encoded = engine.encode(random_problem(rng, rows), [random_atoms(rng, rows, 1000)])
engine.costs(encoded)
session = engine.open(encoded, [samples], length)
for _ in range(length):
    tokens, _ = session.sample(rng.random(samples, np.float32), 1.0)
    session.feed(np.where(tokens == len(COUNTS.operators), 1, tokens).astype(np.int32))
print(peak())
assert "torch" not in sys.modules
"""
Clock = Callable[[], float]


@dataclass(frozen=True)
class Case:
    """States of one problem, and the network on both engines."""

    schema: Schema
    network: RelationalNetwork
    engine: RelationalEngine
    graph: ProblemGraph
    states: Sequence[Atoms]

    @property
    def operations(self) -> float:
        """Of the encoder on the first state."""
        width, inner, message = SIZES["width"], SIZES["inner"], SIZES["relation"]
        rows = self.graph.size
        incidences = sum(each.size for each in self.states[0])
        per_row = 8 * width**2 + 4 * width * inner + 4 * rows * width
        return float(SIZES["encoder_layers"] * (rows * per_row + 4 * incidences * width * message))


@dataclass(frozen=True)
class Grown:
    """A problem of any size, without a meaning."""

    kinds: Any
    noise: Any
    distances: Any


def case_of(domain: str, *settings: str) -> Case:
    task = draw_task(domain, *settings)
    schema = schema_of(task.info.domain)
    network = random_network(schema, **SIZES, max_plan=NEW + 1)
    graph = graph_of(task, network)
    states = [graph.atoms(task.atoms(state)) for state in random_walk(task, STATES)]
    return Case(schema, network, engine_of(network, schema), graph, states)


def seconds(work: Callable[[], object], clock: Clock = time.process_time) -> float:
    start = clock()
    work()
    return clock() - start


def best(work: Callable[[], object], repeats: int, clock: Clock = time.process_time) -> float:
    return min(seconds(work, clock) for _ in range(repeats + 1))


def matrix_rate(size: int = 1024) -> float:
    """Operations a second of a large product on one thread."""
    a = np.random.default_rng(0).random((size, size), np.float32)
    return 2 * size**3 / min(seconds(lambda: a @ a) for _ in range(3))


def compare(
    theirs: Callable[[], object], ours: Callable[[], object], amount: int, operations: float, repeats: int
) -> dict[str, float]:
    theirs(), ours()
    turns = [(seconds(theirs), seconds(ours), matrix_rate()) for _ in range(repeats)]
    return {
        "theirs": amount / min(turn[0] for turn in turns),
        "engine": amount / min(turn[1] for turn in turns),
        "ratio": statistics.median(turn[0] / turn[1] for turn in turns),
        "share": statistics.median(operations / turn[1] / turn[2] for turn in turns),
        "matrix_gflops": max(turn[2] for turn in turns) / 1e9,
    }


def compare_encoders(case: Case, together: bool, repeats: int) -> dict[str, float]:
    groups = [case.states] if together else [[state] for state in case.states]
    batches = [torch_batch(case.graph, group) for group in groups]

    def forward() -> None:
        with torch.inference_mode():
            for batch in batches:
                case.network.encode(batch)

    def encode() -> None:
        for group in groups:
            case.engine.encode(case.graph, group)

    check(case, batches[0], groups[0])
    return compare(forward, encode, len(case.states), case.operations * len(case.states), repeats)


def check(case: Case, batch: dict[str, Any], group: Sequence[Atoms]) -> None:
    """Both must mean the same rows."""
    with torch.inference_mode():
        expected = case.network.encode(batch)[0].numpy()
    for row, encoded in zip(expected, case.engine.encode(case.graph, group), strict=True):
        assert np.abs(row - encoded.final).max() < 1e-3, "the two encoders differ"


def write_plans(engine: RelationalEngine, prompt: Rows, end: int, samples: int, length: int) -> None:
    """As sampling does; an operator stands for the end, so that no plan is shorter."""
    rng = np.random.default_rng(0)
    session = engine.open([prompt], [samples], length)
    for step in range(length):
        tokens, _ = session.sample(rng.random(samples, np.float32), 1.0)
        tokens[tokens == end] = 0
        if step < length - 1:
            session.feed(tokens)


def gpt2(vocabulary: int, prompt: int) -> GPT2LMHeadModel:
    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=prompt + NEW + 1,
        n_embd=SIZES["width"],
        n_layer=SIZES["decoder_layers"],
        n_head=SIZES["heads"],
        n_inner=SIZES["inner"],
        bos_token_id=None,
        eos_token_id=None,
    )
    return GPT2LMHeadModel(config).eval()


def compare_decoders(case: Case, repeats: int) -> dict[str, float]:
    rows, end = case.graph.size, case.schema.end
    model = gpt2(end + rows, rows + 1)
    prompt = torch.randint(0, end + rows, (1, rows + 1)).expand(SAMPLES, -1)

    def generate() -> None:
        options = {"do_sample": True, "top_k": 0, "min_new_tokens": NEW, "max_new_tokens": NEW, "pad_token_id": 0}
        with torch.inference_mode():
            model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)

    [encoded] = case.engine.encode(case.graph, case.states[:1])

    def write() -> None:
        encoded.prompt = None
        write_plans(case.engine, encoded, end, SAMPLES, NEW)

    width = SIZES["width"]
    per_token = SIZES["decoder_layers"] * (24 * width**2 + 4 * width * (rows + NEW / 2)) + 2 * width**2
    return compare(generate, write, SAMPLES * NEW, SAMPLES * NEW * per_token, repeats)


def grown(rows: int, network: RelationalNetwork, schema: Schema) -> tuple[Grown, Sequence[Atoms]]:
    rng = np.random.default_rng(rows)
    distances = rng.integers(0, FAR + 1, (rows, rows)).astype(np.int8)
    kinds = rng.integers(0, schema.kind_count, rows).astype(np.int32)
    arities = [schema.relation_arity(name) for name, _ in network.settings.relations]
    shares = 3 * rows // len(arities)
    atoms = [rng.integers(0, rows, (shares, arity), np.int32) for arity in arities]
    return Grown(kinds, rng.normal(size=(rows, NOISE)).astype(np.float32), distances), [atoms]


def measure_growth(case: Case, repeats: int) -> dict[str, dict[str, float]]:
    found = {}
    for rows in ROWS:
        problem, states = grown(rows, case.network, case.schema)
        found[str(rows)] = {
            "atoms": sum(len(each) for each in states[0]),
            "milliseconds": 1e3 * best(lambda: case.engine.encode(problem, states), repeats),  # noqa: B023
        }
    return found


def measure_memory() -> dict[str, float]:
    """Peak megabytes of a process without torch that encodes 1,000 rows, and what it had before (Linux only)."""
    values = [ROWS[-1], SAMPLES, NEW, *SIZES.values()]
    command = [sys.executable, "-c", MEMORY, *map(str, values)]
    root = Path(__file__).parent.parent
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout.split()
    return {"megabytes_before": float(output[0]), "megabytes": float(output[1])}


def compare_threads(case: Case, repeats: int) -> dict[str, float]:
    """Wall-clock seconds of one thread divided by those of two, both taken side by side."""
    engines = [engine_of(case.network, case.schema, threads) for threads in (1, 2)]
    [prompt] = engines[0].encode(case.graph, case.states[:1])
    works: dict[str, Callable[[RelationalEngine], object]] = {
        f"encode {STATES} states": lambda engine: engine.encode(case.graph, case.states),
        f"write {SAMPLES} plans": lambda engine: write_plans(engine, prompt, case.schema.end, SAMPLES, NEW),
        "write 64 plans": lambda engine: write_plans(engine, prompt, case.schema.end, 64, NEW),
    }
    found = {}
    for name, work in works.items():
        turns = []
        for _ in range(repeats):
            one, two = (seconds(lambda: work(engine), time.perf_counter) for engine in engines)  # noqa: B023
            turns.append(one / two)
        found[name] = statistics.median(turns)
    return found


def report(name: str, row: dict[str, float], wanted: str) -> None:
    print(
        f"{name:34}{row['theirs']:10.0f}{row['engine']:10.0f}{row['ratio']:8.1f}{wanted:>8}"
        f"{row['share']:10.0%} of {row['matrix_gflops']:.0f} GFLOPS",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, Any] = {}
    print(f"{'':34}{'torch':>10}{'engine':>10}{'ratio':>8}{'wanted':>8}{'share of matrix rate':>24}")
    for name, problem in PROBLEMS.items():
        case = case_of(*problem)
        rows = result[name] = {"rows": case.graph.size, "atoms": sum(len(each) for each in case.states[0])}
        print(f"{name}: {rows['rows']} rows, {rows['atoms']} atoms")
        rows["alone"] = compare_encoders(case, False, options.repeats)
        report("  encoder, states/s, one at a time", rows["alone"], ">= 1.5")
        rows["together"] = compare_encoders(case, True, options.repeats)
        report(f"  encoder, states/s, {STATES} together", rows["together"], ">= 1")
        rows["decoder"] = compare_decoders(case, options.repeats)
        report("  decoder, tokens/s", rows["decoder"], ">= 8")
        rows["threads"] = compare_threads(case, options.repeats)
        print("  two threads: " + ", ".join(f"{work} {ratio:.2f} x" for work, ratio in rows["threads"].items()))
    result["growth"] = measure_growth(case, options.repeats) | measure_memory()
    for size in ROWS:
        print(f"{size} rows: {result['growth'][str(size)]['milliseconds']:.2f} ms a state")
    print("1,000 rows: a process of {megabytes:.0f} MB, {megabytes_before:.0f} MB before".format(**result["growth"]))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
