"""First plans of a relational model on fresh problems: by a bare chain of rollouts, and by `solve`.

    python -m benchmarks.relational_rollouts MODEL DOMAIN --count 100 --seconds 20 [--set cities=1..50 ...]

The chain samples ten rollouts, goes to the last state that the heuristic likes best, and samples again from there.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from oclgen import improving_plans
from oclgen.domains import catalog
from oclgen.interfaces import State
from oclgen.loaded_model import LoadedModel, ModelUse
from oclgen.pddl.task import PddlTask
from oclgen.search.context import replay

SAMPLES = 10
MEDIAN = ModelUse(percentile=50.0, whole_rollouts=False)

FirstPlan = Callable[[str, str, LoadedModel, float], int | None]
"""The length of the first plan that is found in time."""


def by_chain(domain: str, problem: str, model: LoadedModel, seconds: float) -> int | None:
    started, rng = time.monotonic(), random.Random(0)
    task = PddlTask(domain, problem)
    policy, heuristic = model.policy(MEDIAN), model.heuristic(MEDIAN)
    state, length = task.initial_state, 0
    seen: set[State] = set()
    while time.monotonic() - started < seconds:
        if task.is_goal(state):
            return length
        seen.add(state)
        rollouts = [replay(task, state, rollout) for rollout in policy.rollouts(task, [state], SAMPLES, rng)[0]]
        ends = [rollout.states[-1] for rollout in rollouts]
        values = heuristic.estimate(task, ends)
        best = min(range(SAMPLES), key=lambda i: (not task.is_goal(ends[i]), ends[i] in seen, values[i]))
        state, length = ends[best], length + len(rollouts[best].steps)
    return None


def by_solve(domain: str, problem: str, model: LoadedModel, seconds: float) -> int | None:
    plans = improving_plans(domain, problem, time_limit=seconds, model=model)
    plan = next(plans, None)
    plans.close()
    return None if plan is None else len(plan)


METHODS: dict[str, FirstPlan] = {"chain": by_chain, "solve": by_solve}


def timed(method: FirstPlan, domain: str, problem: str, model: LoadedModel, seconds: float) -> tuple[float, int | None]:
    """Seconds taken and length of the first plan."""
    started = time.monotonic()
    length = method(domain, problem, model, seconds)
    return time.monotonic() - started, length


def summary(results: list[tuple[float, int | None]]) -> dict[str, float]:
    solved = [(seconds, length) for seconds, length in results if length is not None]
    times = sorted(seconds for seconds, _ in solved)
    if not times:
        return {"problems": len(results), "completed": 0}
    return {
        "problems": len(results),
        "completed": len(solved),
        "median_seconds": round(statistics.median(times), 2),
        "p95_seconds": round(times[int(0.95 * (len(times) - 1))], 2),
        "mean_length": round(statistics.mean(length for _, length in solved), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("domain")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--random-seed", type=int, default=2026)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--method", choices=METHODS, action="append", help="default: all")
    options = parser.parse_args()
    spec = catalog.load(options.domain)
    changes = catalog.overrides(spec, options.set)
    problems = [catalog.draw(spec, options.random_seed, index, changes).text for index in range(options.count)]
    model = LoadedModel(options.model)
    for method in options.method or METHODS:
        results = []
        for number, problem in enumerate(problems):
            results.append(timed(METHODS[method], spec.domain_text, problem, model, options.seconds))
            if results[-1][1] is None:
                print(f"{method}: no plan for problem {number}", flush=True)
        print(json.dumps({"method": method} | summary(results)), flush=True)


if __name__ == "__main__":
    main()
