"""The order of the means: eliminate, explore, then plan windows anew; after each round with more effort.

What any of them finds enters one graph of states, so a shortcut here and a window there add up to one plan.
"""

import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import count

from oclgen.classical.planners import ClassicalPlanner
from oclgen.errors import OclgenError
from oclgen.interfaces import Plan
from oclgen.pddl.task import PddlTask
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.extensions.elimination import eliminate_actions
from oclgen.search.graph import SearchGraph
from oclgen.search.trajectories import add_plan
from oclgen.shorten.neighbourhood import explore
from oclgen.shorten.windows import Window, named, window_problem, windows

FIRST_STATES = 500
FIRST_WINDOW = 20
FIRST_SECONDS = 0.5
"""Effort of the first round: states to expand, steps a window, seconds a window. Each round doubles them."""
WHOLE = 4
"""A round ends with the whole plan as one window, for this many times the seconds of one."""
LARGEST_ROUND = 12


class WindowBudget(Budget):
    """Some seconds of a larger budget: it ends with that one at the latest."""

    def __init__(self, seconds: float, whole: Budget) -> None:
        super().__init__(seconds, memory_bytes=whole.memory_bytes)
        self._whole = whole

    def exhausted(self, iterations: int | None = None) -> bool:
        if self.ending is None and self._whole.exhausted():
            self.ending = self._whole.ending
        return super().exhausted(iterations)


@dataclass(slots=True)
class Shortening:
    """One plan being shortened."""

    task: PddlTask
    graph: SearchGraph
    budget: Budget
    counters: Counters
    planner: ClassicalPlanner
    translate_options: Sequence[str] = ()
    reported: int | None = None
    optimal: bool = False

    def report(self) -> Generator[Plan, None, None]:
        """Yield the best plan if it is shorter than the last one reported, and what elimination makes of it."""
        while self.reported is None or (self.graph.best_length or 0) < self.reported:
            plan = self.graph.get_best_plan()
            self.reported = len(plan)
            yield plan
            add_plan(self.graph, self.task, eliminate_actions(self.task, plan, self.budget.exhausted))

    def explore(self, limit: int) -> Generator[Plan, None, None]:
        """Look for shortcuts among the states around the plan; begin again around each better plan."""
        improved = True
        while improved and not self.optimal:
            before = self.reported
            exploring = explore(self.graph, self.task, self.budget, limit)
            while self.reported == before:
                try:
                    next(exploring)
                except StopIteration as stop:
                    self.optimal = stop.value
                    break
                yield from self.report()
            improved = self.reported != before

    def replan_windows(self, size: int, seconds: float) -> Generator[Plan, None, None]:
        """Plan each window anew, once around; after an improvement the windows lie on the new plan."""
        done = 0  # steps from the end that were in a window
        while not self.optimal and not self.budget.exhausted():
            plan = self.graph.get_best_plan()
            left = [window for window in windows(len(plan), size) if len(plan) - window.first > done]
            if not left:
                return
            done = len(plan) - left[0].first
            self.replan(plan, left[0], seconds)
            self.counters.iterations += 1
            yield from self.report()

    def replan(self, plan: Plan, window: Window, seconds: float) -> None:
        """Put a shorter window into the graph, if the planner finds one in time."""
        state = self.task.initial_state
        for action in plan[: window.first]:
            state = self.task.apply(state, action)
        atoms = {*self.task.atoms(state), *self.task.static_atoms}
        rest = plan[window.last :]
        form = window_problem(self.task.info, atoms, plan[window.first : window.last], rest)
        best, ending = self.classical(form.domain, form.problem, WindowBudget(seconds, self.budget))
        if best is not None and len(best) < len(window):
            add_plan(self.graph, self.task, (*plan[: window.first], *named(form, best), *rest))
        if ending is Ending.EXHAUSTED and len(window) == len(plan):
            self.optimal = True

    def classical(self, domain: str, problem: str, budget: Budget) -> tuple[Plan | None, Ending]:
        """The best plan of the classical planner for a window, and why it stopped."""
        best: Plan | None = None
        search = self.planner.plans(domain, problem, budget, translate_options=self.translate_options)
        try:
            while True:
                best = next(search)
        except StopIteration as stop:
            return best, stop.value
        except OclgenError:  # a window beyond the planner
            return best, Ending.INCOMPLETE


def shorten(
    task: PddlTask,
    plan: Plan,
    budget: Budget,
    counters: Counters,
    planner: ClassicalPlanner,
    translate_options: Sequence[str] = (),
) -> Search:
    """Yield a valid plan without its detours, then each shorter one; end with the budget or with a proof that there
    is none.

    `planner` plans windows anew.
    """
    graph = SearchGraph(task.initial_state, task.is_goal, counters)
    add_plan(graph, task, plan)
    state = Shortening(task, graph, budget, counters, planner, translate_options)
    yield from state.report()
    for effort in count():
        scale = 1 << min(effort, LARGEST_ROUND)
        yield from state.explore(FIRST_STATES * scale)
        yield from state.replan_windows(FIRST_WINDOW * scale, FIRST_SECONDS * scale)
        yield from state.replan_windows(sys.maxsize, WHOLE * FIRST_SECONDS * scale)
        if budget.exhausted(counters.iterations):
            assert budget.ending is not None
            return budget.ending
        if state.optimal:
            return Ending.EXHAUSTED
    raise AssertionError("not reached")
