"""What an item costs when there are many: problems, examples, records, search nodes; time and memory as they grow.

    python -m benchmarks.scale [--stage data ...] [--small 10000] [--large 100000] [--nodes 1000000] [--out FILE.json]

Each stage runs twice, in processes of its own, with few items and with many. Printed are processor time per item in
both, their ratio (it should stay below 1.5), and the most memory of the process. Processor time leaves out what other
programs on the machine take. A file that is only read is not counted as memory: the system takes it back at any time.

data      problems of Blocksworld through `oclgen data`, with a teacher that answers at once
resume    the same folder opened again, nothing to do; and its fingerprint
store     the examples of as many plans, encoded and written
batches   batches for training from them (per batch)
records   records appended to a benchmark's file, and the file opened again
merge     the records of eight shards joined
report    tables and figures from the records
graph     nodes added to the graph of a search; see benchmarks/search.py
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import search
from oclgen.bench.record_file import RecordFile
from oclgen.bench.shards import merge
from oclgen.data.collect import collect
from oclgen.data.dataset import UNDECIDED, Dataset, Row, Writer, open_dataset
from oclgen.data.examples.arrays import load_arrays, save_arrays
from oclgen.data.examples.batches import Position
from oclgen.data.examples.relational import RelationalBatchSettings, RelationalExamples
from oclgen.data.examples.relational_store import RelationalStore, open_relational_store
from oclgen.data.problems import Problems, problems
from oclgen.data.teacher import TeacherJob, TeacherResult, TeacherSettings
from oclgen.encoding.relational import schema_of
from oclgen.pddl.reading.domain import read_domain
from oclgen.report import build, documents
from tests.bench.records import LABELS, run, trace
from tests.data.toy_data import make_dataset

SHARDS = 8
BATCHES = 200
DOMAINS = ("blocksworld", "labyrinth", "logistics", "sokoban")
METHODS = [label for label in LABELS if "loop" not in label][:10]
PLANS = 512
"""Solved problems that stand for many in the stages `store` and `batches`."""


def answer(job: TeacherJob) -> TeacherResult:
    """A teacher that knows the plan."""
    problem, plan = job.problem, "(pickup b1)\n" * 20
    row = Row(problem.index, UNDECIDED, problem.name, problem.text, job.fingerprint, plan, 20, "", 0.0, "", "{}", 0, "")
    return TeacherResult(row, 0, 0.0, 0.0)


def source() -> Problems:
    return problems("blocksworld", 1, ["blocks=9"])


def data(count: int, folder: Path) -> int:
    settings = TeacherSettings()
    with patch("oclgen.data.collect.run_teacher", answer):
        for _ in collect(source(), folder, settings, count=count, val=1000, test=1000, seed=1, workers=1):
            pass
    return count


def resume(count: int, folder: Path) -> int:
    assert data(count, folder) == count
    assert open_dataset(folder).provenance()["problems"] == count
    return count


def filled(folder: Path, count: int) -> Dataset:
    """A data set of toy plans, the same few again and again."""
    rows = list(open_dataset(make_dataset(folder / "toy", PLANS, blocks="8")).rows("train"))
    writer = Writer(folder / "many", {"source": "blocksworld"}, open_dataset(folder / "toy").domain_text)
    for number in range(count):
        writer.append(replace(rows[number % len(rows)], id=number, fingerprint=f"{number:032x}"))
    writer.close()
    return open_dataset(folder / "many")


def store(count: int, folder: Path) -> int:
    """Plans are replayed and encoded."""
    assert len(open_relational_store(open_dataset(folder / "many"), "train")) == count
    return count


def batches(count: int, folder: Path) -> int:
    """A store as large as asked for, from the plans of a small one."""
    dataset = open_dataset(folder / "many")
    schema = schema_of(read_domain(dataset.domain_text))
    examples = load_arrays(RelationalStore, folder / "arrays")
    assert len(examples) >= count
    limits = RelationalBatchSettings(tokens=4000, window=12)
    stream = RelationalExamples(examples, schema, examples.relations(schema), limits, False)
    for _ in islice(stream.stream(Position(), 1, 2), BATCHES):
        pass
    return BATCHES


def lines(count: int) -> Iterator[dict[str, Any]]:
    """Ten methods on as many problems as it takes."""
    rng = random.Random(0)
    for number in range(count):
        problem, method = divmod(number, len(METHODS))
        label = METHODS[method]
        found = trace(rng, 20 * LABELS[label])
        domain = DOMAINS[problem % len(DOMAINS)]
        yield run(label, f"p{problem}", found, domain=domain, time_limit=600.0, plan="(stack b1 b2)\n" * 20)


def records(count: int, folder: Path) -> int:
    with RecordFile(folder) as file:
        for line in lines(count):
            file.append(line)
    with RecordFile(folder) as file:
        assert len(file.ids) == count
    return count


def joined(count: int, folder: Path) -> int:
    shards = [folder / str(number) for number in range(SHARDS)]
    return merge(shards, folder / "joined").records


def report(count: int, folder: Path) -> int:
    evaluation = build.read([folder])
    documents.write(build.make(evaluation), evaluation, folder / "report")
    return count


def graph(count: int, _folder: Path) -> tuple[int, float]:
    """Nodes of the second half of the growth, and what they took without the models."""
    found = search.measure(count)
    return count, 1e-6 * count * found["microseconds_per_node"]


def no_preparation(_count: int, _folder: Path) -> None:
    pass


def prepare_arrays(count: int, folder: Path) -> None:
    small = open_relational_store(filled(folder, PLANS), "train")
    save_arrays(repeat(small, -(-count // len(small))), folder / "arrays")


def prepare_shards(count: int, folder: Path) -> None:
    """Written at once: what counts here is how they are read."""
    for number in range(SHARDS):
        (folder / str(number)).mkdir(parents=True)
        with (folder / str(number) / "records.jsonl").open("w") as file:
            file.writelines(json.dumps(line) + "\n" for line in islice(lines(count), number, None, SHARDS))


def prepare_records(count: int, folder: Path) -> None:
    with (folder / "records.jsonl").open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines(count))


Stage = tuple[Callable[[int, Path], object], Callable[[int, Path], int | tuple[int, float]]]
STAGES: dict[str, Stage] = {
    "data": (no_preparation, data),
    "resume": (data, resume),
    "store": (lambda count, folder: filled(folder, count), store),
    "batches": (prepare_arrays, batches),
    "records": (no_preparation, records),
    "merge": (prepare_shards, joined),
    "report": (prepare_records, report),
    "graph": (no_preparation, graph),
}
"""What comes before the clock starts, and what is measured; it says how many items that were, and perhaps the seconds
that count."""


def own_megabytes() -> float:
    """Memory that no file backs, where the system tells; else the most memory so far."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(found["RssAnon"].split()[0]) / 1024


def measure(name: str, part: str, count: int, folder: Path) -> dict[str, float]:
    """In a process of its own: one part of a stage."""
    prepare, work = STAGES[name]
    if part == "prepare":
        prepare(count, folder)
        return {}
    started, cpu = time.perf_counter(), time.process_time()
    done = work(count, folder)
    items, seconds = done if isinstance(done, tuple) else (done, time.process_time() - cpu)
    return {
        "count": count,
        "microseconds": 1e6 * seconds / items,
        "wall_microseconds": 1e6 * (time.perf_counter() - started) / items,
        "megabytes": own_megabytes(),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_process(name: str, count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, float] = {}
        for part in ("prepare", "measure"):
            command = [sys.executable, "-m", "benchmarks.scale", "--part", part, "--stage", name]
            command += ["--large", str(count), "--folder", folder]
            found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        return found


def table_row(name: str, small: dict[str, float], large: dict[str, float]) -> str:
    counts = f"{small['count']:10,} {large['count']:10,}"
    times = f"{small['microseconds']:9,.1f} {large['microseconds']:9,.1f}"
    memory = f"{small['peak_megabytes']:6,.0f} {large['peak_megabytes']:6,.0f}"
    return f"{name:8} {counts} {times} {large['microseconds'] / small['microseconds']:6.2f} {memory}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", action="append", choices=STAGES, help="default: all")
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=1_000_000, help="of a graph; a hundredth is the small size")
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    parser.add_argument("--part", choices=("prepare", "measure"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(measure(options.stage[0], options.part, options.large, options.folder)))
        return
    result: dict[str, list[dict[str, float]]] = {}
    print(f"{'stage':8} {'items':>21} {'µs per item':>19} {'ratio':>6} {'peak MB':>13}", flush=True)
    for name in options.stage or STAGES:
        sizes = (options.nodes // 100, options.nodes) if name == "graph" else (options.small, options.large)
        small, large = result[name] = [in_process(name, size) for size in sizes]
        print(table_row(name, small, large), flush=True)
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
