"""What a second thread of the engine brings to a search: iterations in equal time on the largest problem of each range.

python -m benchmarks.threads --seconds 8 --threads 2
"""

import argparse

from oclgen import solve
from oclgen.domains import catalog

LARGEST = {
    "blocksworld": ["blocks=25..25"],
    "logistics": ["cities=50..50", "city_size=5..5", "packages=50..50", "airplanes=10..10"],
    "labyrinth": ["size=4..4", "rotations=8..8"],
    "sokoban": ["grid=14..14", "boxes=10..10"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    for name, ranges in LARGEST.items():
        spec = catalog.load(name)
        problem = catalog.draw(spec, 7001, 0, catalog.overrides(spec, ranges)).text
        work = []
        for threads in (1, options.threads):
            settings = {"engine_threads": threads}
            result = solve(spec.domain_text, problem, time_limit=options.seconds, settings=settings)
            counters = result.counters
            work.append((counters.iterations, counters.evaluated, counters.tokens))
        ratios = [f"{more / max(1, one):.2f}" for one, more in zip(*work, strict=True)]
        print(f"{name}: iterations, evaluated states, tokens {work[0]} with one thread, {work[1]} with more: {ratios}")


if __name__ == "__main__":
    main()
