"""What a second core brings to one problem at equal time: a second thread of the engine, or a second search that shares
plans, or plans and states.

For problems of each domain and several seeds, all ways one after the other. Prints the iterations of all searches, the
lengths of plans where every way has one, and how often they are shorter or longer than with one core.

    python -m benchmarks.searches --seconds 10 --problems 3 --seeds 2
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.threads import LARGEST
from oclgen.domains import catalog

SEED = 7001
WAYS = {
    "one core": ("--threads", "1"),
    "two engine threads": ("--threads", "2", "--set", "engine_threads=2"),
    "two searches, plans": ("--threads", "2", "--set", "share_states=false"),
    "two searches, plans and states": ("--threads", "2"),
}

Record = dict[str, Any]


def solve(folder: Path, seconds: float, seed: int, options: tuple[str, ...]) -> Record:
    """The record of one `oclgen solve`."""
    limits = ("--overall-time-limit", f"{seconds}s", "--random-seed", str(seed), "--json", "record.json")
    command = [sys.executable, "-m", "oclgen", "solve", "problem.pddl", *limits, *options]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    record: Record = json.loads((folder / "record.json").read_text())
    return record


def compare(name: str, problems: int, seeds: int, seconds: float, ranges: list[str]) -> dict[str, list[Record]]:
    """The records of each way, in the same order of problems and seeds."""
    spec = catalog.load(name)
    records: dict[str, list[Record]] = {way: [] for way in WAYS}
    for index in range(problems):
        problem = catalog.draw(spec, SEED, index, catalog.overrides(spec, ranges)).text
        with tempfile.TemporaryDirectory(prefix="oclgen-") as folder:
            (Path(folder) / "domain.pddl").write_text(spec.domain_text)
            (Path(folder) / "problem.pddl").write_text(problem)
            for seed in range(seeds):
                for way, more in WAYS.items():
                    records[way].append(solve(Path(folder), seconds, seed, more))
    return records


def report(name: str, records: dict[str, list[Record]]) -> None:
    cases = list(zip(*records.values(), strict=True))
    common = [lengths for case in cases if None not in (lengths := [run["length"] for run in case])]
    one = sum(case[0]["counters"]["iterations"] for case in cases)
    for number, way in enumerate(WAYS):
        iterations = sum(case[number]["counters"]["iterations"] for case in cases)
        solved = sum(case[number]["length"] is not None for case in cases)
        steps = f"{mean(lengths[number] for lengths in common):.2f} steps on {len(common)}" if common else "-"
        shorter = sum(lengths[number] < lengths[0] for lengths in common)
        longer = sum(lengths[number] > lengths[0] for lengths in common)
        print(
            f"{name}, {way}: {iterations} iterations ({iterations / max(1, one):.2f} x), {solved} of {len(cases)} "
            f"solved, {steps}, {shorter} shorter and {longer} longer than with one core",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--problems", type=int, default=3, help="of each domain")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--domains", nargs="*", default=list(LARGEST))
    parser.add_argument("--set", dest="ranges", nargs="*", help="ranges of the problems; default: the largest")
    options = parser.parse_args()
    for name in options.domains:
        ranges = options.ranges or LARGEST[name]
        report(name, compare(name, options.problems, options.seeds, options.seconds, ranges))


if __name__ == "__main__":
    main()
