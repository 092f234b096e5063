"""What shared states are worth, without a clock: searches of one problem that take turns, iteration by iteration.

For each problem and seed the searches share nothing, their plans, or plans and states; every search has the same number
of iterations, so the lengths are the same on any machine. The seconds are of processor time.

    python -m benchmarks.lockstep --iterations 60 --problems 4 --seeds 2
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from statistics import mean
from threading import Condition

from benchmarks.threads import LARGEST
from oclgen.domains import catalog
from oclgen.interfaces import Plan
from oclgen.planner import prepare
from oclgen.search.anytime import Budget, Counters, run
from oclgen.search.extensions.exchange import Exchange, SharedState
from oclgen.search_group import member_seed

SEED = 7101
WAYS = {
    "nothing": (False, False),
    "plans": (True, False),
    "plans and states": (True, True),
}


class Turns:
    """One search at a time, in turn."""

    def __init__(self, searches: int) -> None:
        self._waiting, self._changed = list(range(searches)), Condition()

    def begin(self, number: int) -> None:
        """Wait for the first turn."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting[0] == number)

    def take(self, number: int) -> None:
        """Give the turn away and wait for the next one."""
        with self._changed:
            self._waiting.append(self._waiting.pop(0))
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting[0] == number)

    def leave(self, number: int) -> None:
        with self._changed:
            self._waiting.remove(number)
            self._changed.notify_all()


class TurnBudget(Budget):
    """Waits for its turn before each iteration."""

    def __init__(self, iterations: int, wait: Callable[[], None]) -> None:
        super().__init__(iterations=iterations)
        self._wait = wait

    def exhausted(self, iterations: int | None = None) -> bool:
        if iterations is not None:
            self._wait()
        return super().exhausted(iterations)


def search_in_turn(
    domain: str, problem: str, searches: int, iterations: int, seed: int, plans: bool, states: bool
) -> list[int | None]:
    """The length of each search's best plan."""
    turns = Turns(searches)
    exchanges: list[Exchange] = []

    def to_others(number: int) -> Exchange:
        def send(plan: Plan) -> None:
            for other, exchange in enumerate(exchanges):
                if plans and other != number:
                    exchange.receive(plan)

        def send_states(found: list[SharedState]) -> None:
            for other, exchange in enumerate(exchanges):
                if other != number:
                    exchange.receive_states(found)

        return Exchange(send, send_states)

    exchanges += [to_others(number) for number in range(searches)]

    def work(number: int) -> int | None:
        prepared = prepare(domain, problem, method="oclgen", settings={"share_states": states})
        budget, counters = TurnBudget(iterations, lambda: turns.take(number)), Counters()
        own_seed = member_seed(seed, number) if number else seed
        turns.begin(number)
        try:
            found = prepared.unchecked_plans(budget, counters, own_seed, share=lambda: nullcontext(exchanges[number]))
            plan = run(found, budget, counters).plan
        finally:
            turns.leave(number)
        return None if plan is None else len(plan)

    with ThreadPoolExecutor(searches) as pool:
        return list(pool.map(work, range(searches)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=60, help="of each search")
    parser.add_argument("--searches", type=int, default=2)
    parser.add_argument("--problems", type=int, default=4, help="of each domain")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--domains", nargs="*", default=list(LARGEST))
    parser.add_argument("--set", dest="ranges", nargs="*", help="ranges of the problems; default: the largest")
    options = parser.parse_args()
    for name in options.domains:
        spec = catalog.load(name)
        ranges = catalog.overrides(spec, options.ranges or LARGEST[name])
        best: dict[str, list[int | None]] = {way: [] for way in WAYS}
        seconds = dict.fromkeys(WAYS, 0.0)
        for index in range(options.problems):
            problem = catalog.draw(spec, SEED, index, ranges).text
            for seed in range(options.seeds):
                for way, share in WAYS.items():
                    started = time.process_time()
                    lengths = search_in_turn(
                        spec.domain_text, problem, options.searches, options.iterations, seed, *share
                    )
                    best[way].append(min((length for length in lengths if length is not None), default=None))
                    seconds[way] += time.process_time() - started
        report(name, best, seconds)


def report(name: str, best: dict[str, list[int | None]], seconds: dict[str, float]) -> None:
    """Mean lengths on the cases that all ways solved, and wins against sharing plans alone."""
    cases = list(zip(*best.values(), strict=True))
    common = [case for case in cases if None not in case]
    for number, (way, lengths) in enumerate(best.items()):
        solved = sum(length is not None for length in lengths)
        shorter = sum(case[number] < case[1] for case in common)
        longer = sum(case[number] > case[1] for case in common)
        steps = f"{mean(case[number] for case in common):.2f} steps on {len(common)}" if common else "-"
        versus = "" if number == 1 else f", {shorter} shorter and {longer} longer than with plans"
        print(
            f"{name}, sharing {way}: {solved} of {len(cases)} solved, {steps}{versus}, {seconds[way]:.1f} s", flush=True
        )


if __name__ == "__main__":
    main()
