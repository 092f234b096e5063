"""Bookkeeping of OCLGen: time per added node outside the models, and bytes per node, as the graph grows.

The real search walks in an eight-dimensional grid (sixteen actions, undirected, full of duplicates) with models that
cost nothing: their time is measured and subtracted. Time at size n is that of growing from n/2 to n nodes, so a cost
that grows with the graph cannot hide behind cheap beginnings; small sizes are repeated with other seeds. Time is this
process's own, so other work on the machine disturbs it little.

    python benchmarks/search.py [--largest 1000000] [--json FILE]
"""

import argparse
import gc
import json
import platform
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from oclgen.interfaces import Action, Rollout, State, Step, Task
from oclgen.search.anytime import Budget, Counters
from oclgen.search.graph import SearchGraph
from oclgen.search.oclgen import oclgen_search
from oclgen.search.settings import OclgenSettings

SIDE, DIMENSIONS = 64, 8
STRIDES: dict[Action, tuple[int, int]] = {
    (name, str(axis)): (axis, sign) for axis in range(DIMENSIONS) for name, sign in (("up", 1), ("down", -1))
}
ACTIONS = list(STRIDES)
NODES_MEASURED = 40_000  # at least so many per size, by repetition


class Grid:
    """States are numbers whose digits in base 64 are coordinates; from the middle to either end of the first axis."""

    ground_action_bound = len(ACTIONS)

    @property
    def initial_state(self) -> State:
        return int(sum((SIDE // 2) * SIDE**axis for axis in range(DIMENSIONS)))

    def is_goal(self, state: State) -> bool:
        assert isinstance(state, int)
        return state % SIDE in (0, SIDE - 1)

    def applicable(self, state: State) -> Sequence[Action]:
        return [action for action in ACTIONS if self.apply(state, action) is not None]

    def apply(self, state: State, action: Action) -> State | None:
        assert isinstance(state, int)
        axis, sign = STRIDES[action]
        digit = state // SIDE**axis % SIDE + sign
        return state + sign * SIDE**axis if 0 <= digit < SIDE else None


class FreeModels:
    """Long plans at first, then random rollouts of fifteen steps, a third of them unsure, and random values; counts
    the time that all this takes."""

    def __init__(self, seed: int) -> None:
        self.seconds = 0.0
        self._rng = random.Random(seed)

    def rollouts(
        self,
        task: Task,
        states: Sequence[State],
        samples: int,
        rng: random.Random,
        *,
        max_tokens: int | None = None,
        max_actions: int | None = None,
        restricted: bool = False,
        should_stop: Callable[[], bool] | None = None,
    ) -> list[list[Rollout]]:
        began = time.process_time()
        propose = self._plan if max_tokens is None else self._walk
        batches = [[propose() for _ in range(samples)] for _ in states]
        self.seconds += time.process_time() - began
        return batches

    def _plan(self) -> Rollout:
        """A plan twice as long as it need be."""
        needed, idle = SIDE // 2, [self._rng.choice(ACTIONS[2:]) for _ in range(SIDE // 2)]
        actions = [ACTIONS[0]] * needed + idle
        self._rng.shuffle(actions)
        return tuple(Step(action, 0.99) for action in actions)

    def _walk(self) -> Rollout:
        signs = [self._rng.choice(["up", "down"]) for _ in range(DIMENSIONS)]
        axes = [self._rng.randrange(DIMENSIONS) for _ in range(15)]
        return tuple(Step((signs[axis], str(axis)), self._rng.choice((0.5, 0.99, 0.99))) for axis in axes)

    def priors(self, task: Task, state: State, actions: Sequence[Action]) -> list[float]:
        raise NotImplementedError

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        began = time.process_time()
        values = [float(self._rng.randrange(200)) for _ in states]
        self.seconds += time.process_time() - began
        return values


def grow(size: int, seed: int) -> dict[str, float]:
    """Search until the graph has `size` nodes; what the second half of the growth took."""
    models, counters = FreeModels(seed), Counters()
    graphs: list[SearchGraph] = []
    marks: list[tuple[float, int, int, int]] = []

    class Watched(Budget):
        """Marks the clock when half the nodes are there and ends the search when all are."""

        def exhausted(self, iterations: int | None = None) -> bool:
            if iterations is not None and len(graphs[0]) >= (size / 2, size)[len(marks)]:
                seconds = time.process_time() - models.seconds
                marks.append((seconds, len(graphs[0]), counters.generated, counters.iterations))
                if len(marks) == 2:
                    self.interrupt()
            return super().exhausted(iterations)

    before = psutil.Process().memory_info().rss
    rng = random.Random(seed)
    for _ in oclgen_search(Grid(), models, models, OclgenSettings(), Watched(), rng, counters, graphs.append):
        pass
    grown = psutil.Process().memory_info().rss - before
    (began, nodes, generated, iterations), (ended, all_nodes, all_generated, all_iterations) = marks
    return {
        "seconds": ended - began,
        "nodes": all_nodes - nodes,
        "transitions": all_generated - generated,
        "iterations": all_iterations - iterations,
        "bytes_per_node": grown / all_nodes,
        "deepest": graphs[0].deepest,
        "reopened": counters.reopened,
    }


def measure(size: int) -> dict[str, float]:
    runs: list[dict[str, float]] = []
    while not runs or sum(run["nodes"] for run in runs) < NODES_MEASURED:
        runs.append(grow(size, seed=len(runs)))
        gc.collect()
    seconds = sum(run["seconds"] for run in runs)
    return {
        "nodes": size,
        "runs": len(runs),
        "microseconds_per_node": 1e6 * seconds / sum(run["nodes"] for run in runs),
        "microseconds_per_transition": 1e6 * seconds / sum(run["transitions"] for run in runs),
        "milliseconds_per_iteration": 1e3 * seconds / sum(run["iterations"] for run in runs),
        "bytes_per_node": runs[0]["bytes_per_node"],
        "deepest": runs[0]["deepest"],
        "reopened": runs[0]["reopened"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=10**6)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sizes = [10**power for power in range(3, 10) if 10**power <= arguments.largest]
    results = [measure(size) for size in sizes]
    times = [result["microseconds_per_node"] for result in results]
    record = {"python": platform.python_version(), "ratio": max(times) / min(times), "sizes": results}
    text = json.dumps(record, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
