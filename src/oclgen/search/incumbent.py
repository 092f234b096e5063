"""The incumbent: reports each plan that is shorter than the last one and looks for a still shorter one beside it.

The paper's algorithm only reports; action elimination and shortcuts are ours.
"""

from collections.abc import Iterator

from oclgen.interfaces import FactTask, Plan
from oclgen.search.context import SearchContext
from oclgen.search.elimination import eliminate_actions
from oclgen.search.facts import KnownStates
from oclgen.search.graph import SearchGraph
from oclgen.search.settings import OclgenSettings
from oclgen.search.trajectories import add_plan


class Incumbent:
    """The best plan reported so far, known by its length."""

    def __init__(self, graph: SearchGraph, context: SearchContext, settings: OclgenSettings) -> None:
        self.length: int | None = None
        self._graph = graph
        self._context = context
        self._eliminate = settings.eliminate
        self._shortcut = settings.shortcut
        task = context.task
        self._known = KnownStates(task, graph) if isinstance(task, FactTask) and task.follows_facts else None

    def improvements(self) -> Iterator[Plan]:
        """Yield the graph's best plan if it is shorter than the incumbent, and every shorter plan made from it."""
        graph = self._graph
        while graph.best_length is not None and (self.length is None or graph.best_length < self.length):
            self.length = graph.best_length
            yield graph.get_best_plan()
            if self._eliminate:
                add_reduced_plan(graph, self._context)
            if self._shortcut:
                add_shortcuts(graph, self._context, self._known)


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
