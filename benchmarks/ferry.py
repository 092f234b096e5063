"""A model of Ferry on problems much larger than those it learned from.

    python -m benchmarks.ferry MODEL --count 30 --objects 50 150 --seconds 20

MODEL comes from `oclgen learn`, or from `oclgen train relational --config configs/cpu/relational-ferry.toml`, on the
training problems of IPC 2023's learning track (at most 35 objects). Cars and locations are drawn as there: each car has
a random start and a random goal.
"""

import argparse
import json
import random
from pathlib import Path

from benchmarks.relational_rollouts import by_solve, summary, timed
from oclgen.loaded_model import LoadedModel
from oclgen.model_folders import domain_file


def draw(objects: int, rng: random.Random) -> str:
    """A problem with so many objects, between a third and two thirds of them cars."""
    cars = rng.randint(objects // 3, 2 * objects // 3)
    locations = [f"loc{i}" for i in range(objects - cars)]
    start = [f"(at car{i} {rng.choice(locations)})" for i in range(cars)]
    goal = [f"(at car{i} {rng.choice(locations)})" for i in range(cars)]
    names = " ".join(f"car{i}" for i in range(cars))
    return (
        f"(define (problem ferry-{objects}) (:domain ferry)\n"
        f"(:objects {names} - car {' '.join(locations)} - location)\n"
        f"(:init (empty-ferry) (at-ferry {rng.choice(locations)}) {' '.join(start)})\n"
        f"(:goal (and {' '.join(goal)})))\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--objects", type=int, nargs=2, default=(50, 150))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--random-seed", type=int, default=2026)
    options = parser.parse_args()
    rng = random.Random(options.random_seed)
    domain = domain_file(options.model).read_text(encoding="utf-8")
    model = LoadedModel(options.model)
    problems = [draw(rng.randint(*options.objects), rng) for _ in range(options.count)]
    results = [timed(by_solve, domain, problem, model, options.seconds) for problem in problems]
    print(json.dumps(summary(results)))


if __name__ == "__main__":
    main()
