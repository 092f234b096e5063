"""Models of one domain side by side, on fresh problems with equal time: solved, plan lengths, time to the first plan.

    python -m benchmarks.compare_models DOMAIN MODEL MODEL ... --count 40 --seconds 5 [--set size=3..4 ...]

One core each, one model after the other on each problem, so that a busy machine disturbs them alike.
"""

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from oclgen import improving_plans
from oclgen.domains import catalog
from oclgen.loaded_model import LoadedModel


@dataclass(frozen=True)
class Result:
    """`first` is the time of the first plan."""

    length: int | None
    first: float


def search(domain: str, problem: str, model: LoadedModel, seconds: float) -> Result:
    started, first, length = time.monotonic(), seconds, None
    for plan in improving_plans(domain, problem, time_limit=seconds, model=model):
        if length is None:
            first = time.monotonic() - started
        length = len(plan)
    return Result(length, first)


def summary(results: list[Result], common: list[int]) -> str:
    solved = [result for result in results if result.length is not None]
    if not solved:
        return f"0 of {len(results)} solved"
    first = sorted(result.first for result in solved)
    late = first[int(0.95 * (len(first) - 1))]
    lengths = [length for index in common if (length := results[index].length) is not None]
    return (
        f"{len(solved)} of {len(results)} solved, mean length {statistics.mean(lengths or [0]):.2f} on {len(common)} "
        f"common ones, first plan after {statistics.median(first):.2f} s (95 %: {late:.2f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain")
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--random-seed", type=int, default=7001)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    spec = catalog.load(options.domain)
    changes = catalog.overrides(spec, options.set)
    models = [LoadedModel(folder) for folder in options.models]
    found: list[list[Result]] = [[] for _ in models]
    for index in range(options.count):
        problem = catalog.draw(spec, options.random_seed, index, changes).text
        for model, results in zip(models, found, strict=True):
            results.append(search(spec.domain_text, problem, model, options.seconds))
        print(index, *(results[-1].length for results in found), flush=True)
    common = [i for i in range(options.count) if all(results[i].length is not None for results in found)]
    for folder, results in zip(options.models, found, strict=True):
        print(f"{folder}: {summary(results, common)}")


if __name__ == "__main__":
    main()
