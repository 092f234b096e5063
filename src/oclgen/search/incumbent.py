"""The incumbent: reports each plan that is shorter than the last one and looks for a still shorter one beside it.

The paper's algorithms only report; action elimination and shortcuts are ours, the same for all methods.
"""

from collections.abc import Iterator, Sequence

from oclgen.interfaces import FactTask, Plan
from oclgen.search.anytime import Counters
from oclgen.search.context import SearchContext, Trajectory
from oclgen.search.extensions.elimination import eliminate_actions
from oclgen.search.extensions.exchange import Exchange
from oclgen.search.extensions.facts import KnownStates
from oclgen.search.graph import SearchGraph
from oclgen.search.settings import Helps, RolloutHelps
from oclgen.search.trajectories import add_plan, add_trajectory


class Incumbent:
    """The best plan reported so far, known by its length. With an `exchange` other searches have part in it."""

    def __init__(
        self, graph: SearchGraph, context: SearchContext, settings: Helps, exchange: Exchange | None = None
    ) -> None:
        self.length: int | None = None
        self._exchange = exchange
        self._graph = graph
        self._context = context
        self._eliminate = settings.eliminate
        self._shortcut = settings.shortcut
        task = context.task
        self._known = (
            KnownStates(task, graph, context.budget.exhausted)
            if isinstance(task, FactTask) and task.follows_facts
            else None
        )

    def improvements(self) -> Iterator[Plan]:
        """Yield the graph's best plan if it is shorter than the incumbent, and every shorter plan made from it.

        A plan of another search enters the graph first: its states become open nodes like any others.
        """
        graph = self._graph
        if self._exchange is not None and (foreign := self._exchange.take()) is not None:
            add_plan(graph, self._context.task, foreign)
        while graph.best_length is not None and (self.length is None or graph.best_length < self.length):
            self.length = graph.best_length
            plan = graph.get_best_plan()
            if self._exchange is not None:
                self._exchange.post(plan)
            yield plan
            if self._eliminate:
                add_reduced_plan(graph, self._context)
            if self._shortcut:
                add_shortcuts(graph, self._context, self._known)


class SampledIncumbent:
    """The incumbent of a search without a graph of its own. For shortcuts it keeps what it has seen in one."""

    def __init__(self, context: SearchContext, settings: RolloutHelps) -> None:
        self.length: int | None = None
        self._context = context
        self._settings = settings
        task = context.task
        # Counters of its own: the search counts what it generates itself, with shortcuts and without.
        self._graph = SearchGraph(task.initial_state, task.is_goal, Counters()) if settings.shortcut else None
        self._best = None if self._graph is None else Incumbent(self._graph, context, settings)

    @property
    def limit(self) -> int | None:
        """With `prune`, the length of the longest plan that is still of interest."""
        return self.length - 1 if self._settings.prune and self.length is not None else None

    def improvements(self, beginning: Trajectory, rollouts: Sequence[Trajectory]) -> Iterator[Plan]:
        """Yield each plan shorter than the incumbent that new rollouts give.

        The rollouts start where `beginning` ends, a trajectory from the initial state.
        """
        if self._graph is None or self._best is None:
            yield from self._shortest(beginning, rollouts)
            return
        for trajectory in (beginning, *rollouts):
            add_trajectory(self._graph, trajectory, {})
        for plan in self._best.improvements():
            self.length = len(plan)
            yield plan

    def change_decoding(self, rollouts: Sequence[Trajectory]) -> None:
        """While there is no plan: after rollouts without a single action the next ones are restricted."""
        if rollouts and self._settings.restrict_lost and self.length is None:
            got_nowhere = not any(rollout.steps for rollout in rollouts)
            self._context.decoding.after_failure(self._context.task, got_nowhere)

    def _shortest(self, beginning: Trajectory, rollouts: Sequence[Trajectory]) -> Iterator[Plan]:
        plans = [beginning.actions + rollout.actions for rollout in rollouts if rollout.reaches_goal]
        plan = min(plans, key=len, default=None)
        while plan is not None and (self.length is None or len(plan) < self.length):
            self.length = len(plan)
            yield plan
            if self._settings.eliminate:
                plan = eliminate_actions(self._context.task, plan, self._context.budget.exhausted)


def add_reduced_plan(graph: SearchGraph, context: SearchContext) -> None:
    """Add the best plan without the actions it does not need."""
    add_plan(graph, context.task, eliminate_actions(context.task, graph.get_best_plan(), context.budget.exhausted))


def add_shortcuts(graph: SearchGraph, context: SearchContext, known: KnownStates | None = None) -> None:
    """Add unseen transitions from the states of the best plan to known states and to goals.

    The best plan is already the shortest over the known transitions, so only unseen ones can shorten it. `known`
    tells which actions are worth a try.
    """
    task = context.task
    for node, _ in graph.best_path():
        if graph.is_expanded(node):
            continue
        if context.budget.exhausted():
            return
        applicable = task.applicable(graph.state(node))
        for action in applicable if known is None else known.candidates(graph.state(node), applicable):
            state = task.apply(graph.state(node), action)
            target = graph.find(state)
            if target is not None:
                graph.connect(node, action, target)
            elif task.is_goal(state):
                graph.add(node, action, state, 0.0, evaluated=True)
