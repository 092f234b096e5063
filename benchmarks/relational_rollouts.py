"""Chained rollouts alone: how many fresh problems a model completes without search, and how soon.

    python -m benchmarks.relational_rollouts MODEL DOMAIN --count 100 --seconds 20 [--set cities=1..50 ...]

Best-of-N with chained rollouts stops at its first plan. With `--solve`, OCLGen runs beside it, to its first plan too.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

from oclgen import improving_plans
from oclgen.domains import catalog
from oclgen.loaded_model import LoadedModel

MOST_LINKS = 10_000
"""Rollouts in a chain: as many as the time allows."""


def first_plan(method: str, domain: str, problem: str, model: LoadedModel, seconds: float) -> tuple[float, int | None]:
    """Seconds to the first plan, and its length."""
    started = time.monotonic()
    settings = {"links": MOST_LINKS} if method == "best-of-n" else {}
    plans = improving_plans(domain, problem, time_limit=seconds, method=method, model=model, settings=settings)
    plan = next(plans, None)
    taken = time.monotonic() - started
    plans.close()
    return taken, None if plan is None else len(plan)


def summary(results: list[tuple[float, int | None]]) -> dict[str, float]:
    solved = [(seconds, length) for seconds, length in results if length is not None]
    times = sorted(seconds for seconds, _ in solved)
    return {
        "problems": len(results),
        "completed": len(solved),
        "share": len(solved) / len(results),
        "median_seconds": statistics.median(times) if times else float("nan"),
        "p95_seconds": times[int(0.95 * (len(times) - 1))] if times else float("nan"),
        "mean_length": statistics.mean(length for _, length in solved) if solved else float("nan"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("domain")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--random-seed", type=int, default=2026)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--solve", action="store_true", help="also OCLGen's first plan")
    options = parser.parse_args()
    spec = catalog.load(options.domain)
    changes = catalog.overrides(spec, options.set)
    problems = [catalog.draw(spec, options.random_seed, index, changes).text for index in range(options.count)]
    model = LoadedModel(options.model)
    for method in ("best-of-n", "oclgen") if options.solve else ("best-of-n",):
        results = []
        for number, problem in enumerate(problems):
            results.append(first_plan(method, spec.domain_text, problem, model, options.seconds))
            if results[-1][1] is None:
                print(f"{method}: no plan for problem {number}", flush=True)
        print(json.dumps({"method": method} | summary(results)), flush=True)


if __name__ == "__main__":
    main()
