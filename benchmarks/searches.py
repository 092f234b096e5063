"""What a second core brings to one problem: one search, two that share their best plan, and one on two threads.

Equal time on the largest problems of each domain; prints iterations of all searches and lengths of plans.

    python -m benchmarks.searches --seconds 30 --problems 5
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.threads import LARGEST
from oclgen.domains import catalog

SEED = 7001
WAYS = {
    "one search": ("--searches", "1", "--threads", "1"),
    "two searches": ("--searches", "2", "--threads", "1"),
    "two threads": ("--searches", "1", "--threads", "2"),
}


def solve(folder: Path, seconds: float, seed: int, options: tuple[str, ...]) -> dict[str, Any]:
    """The record of one `oclgen solve`."""
    limits = ("--overall-time-limit", f"{seconds}s", "--random-seed", str(seed), "--json", "record.json")
    command = [sys.executable, "-m", "oclgen", "solve", "problem.pddl", *limits, *options]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    record: dict[str, Any] = json.loads((folder / "record.json").read_text())
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--problems", type=int, default=5, help="of each domain")
    parser.add_argument("--domains", nargs="*", default=list(LARGEST))
    options = parser.parse_args()
    for name in options.domains:
        spec = catalog.load(name)
        ranges = catalog.overrides(spec, LARGEST[name])
        records: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for index in range(options.problems):
            with tempfile.TemporaryDirectory(prefix="oclgen-") as folder:
                (Path(folder) / "domain.pddl").write_text(spec.domain_text)
                (Path(folder) / "problem.pddl").write_text(catalog.draw(spec, SEED, index, ranges).text)
                for way, more in WAYS.items():
                    records[way].append(solve(Path(folder), options.seconds, SEED + index, more))
        for way, runs in records.items():
            iterations = sum(run["counters"]["iterations"] for run in runs)
            print(
                f"{name}, {way}: {iterations} iterations, plans of {[run['length'] for run in runs]} steps", flush=True
            )


if __name__ == "__main__":
    main()
