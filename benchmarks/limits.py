"""How well `oclgen solve` keeps its time limit: wall-clock of whole processes on the largest problems of each domain.

    python benchmarks/limits.py [--method oclgen] [--limit 1 --limit 3] [--model DIR]

Prints, per domain and limit, the seconds a process took beyond (or below) its limit, measured from outside.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from oclgen.domains import catalog

LARGEST = {
    "blocksworld": ["blocks=25"],
    "labyrinth": ["size=4", "rotations=8"],
    "logistics": ["cities=50", "city_size=5", "packages=50", "airplanes=10"],
    "sokoban": ["grid=14", "boxes=10", "walls=10"],
}


def overshoot(domain: Path, problem: Path, limit: float, extra: list[str]) -> tuple[float, int]:
    """Seconds beyond the limit, and the exit code."""
    command = [sys.executable, "-m", "oclgen", "solve", str(domain), str(problem)]
    command += ["--overall-time-limit", f"{limit}s", "--plan-file", str(problem.with_suffix(".plan")), *extra]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.stderr:
        print(done.stderr.strip(), file=sys.stderr)
    return seconds - limit, done.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="oclgen")
    parser.add_argument("--limit", type=float, action="append")
    parser.add_argument("--domain", action="append")
    parser.add_argument("--model")
    arguments = parser.parse_args()
    extra = ["--method", arguments.method] + (["--model", arguments.model] if arguments.model else [])
    results = []
    for name in arguments.domain or catalog.names():
        spec = catalog.load(name)
        drawn = catalog.draw(spec, 7, 0, catalog.overrides(spec, LARGEST.get(name, [])))
        with tempfile.TemporaryDirectory() as folder:
            domain, problem = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
            domain.write_text(spec.domain_text)
            problem.write_text(drawn.text)
            for limit in arguments.limit or [1.0, 3.0]:
                beyond, code = overshoot(domain, problem, limit, extra)
                print(f"{name:12} limit {limit:5.1f} s  {beyond:+.3f} s  exit code {code}")
                results.append({"domain": name, "limit": limit, "beyond": beyond, "exit_code": code})
    print(json.dumps(results))


if __name__ == "__main__":
    main()
