"""What is made of a plan that is shorter than the last: it is reported, and the graph is searched beside it for a
still shorter one. Ours; the paper's profile only reports.
"""

from collections.abc import Generator

from oclgen.interfaces import Plan, Step
from oclgen.search.context import Models, replay, successors
from oclgen.search.elimination import eliminate
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.settings import OclgenSettings


def improvements(
    graph: SearchGraph, models: Models, settings: OclgenSettings, length: int | None
) -> Generator[Plan, None, int | None]:
    """Yield the best plan if it is shorter than `length`, then what can be made of it; the new length."""
    while graph.best_length is not None and (length is None or graph.best_length < length):
        length = graph.best_length
        yield graph.get_best_plan()
        if settings.eliminate:
            leave_out(graph, models)
        if settings.shortcut and models.task.ground_action_bound <= settings.policy_expansion_threshold:
            shortcut(graph, models)
    return length


def leave_out(graph: SearchGraph, models: Models) -> None:
    """Add the best plan once more, without the actions that it can do without."""
    plan = eliminate(models.task, graph.get_best_plan(), models.budget.exhausted)
    course = replay(models.task, graph.state(ROOT), tuple(Step(action, 1.0) for action in plan))
    node, left = ROOT, len(course.steps)
    for action, state in zip(course.actions, course.states[1:], strict=True):
        left -= 1
        node = graph.add(node, action, state, float(left), evaluated=False)


def shortcut(graph: SearchGraph, models: Models) -> None:
    """Look for unseen transitions from the states of the best plan to known states and to goals.

    Over the transitions that are known the plan is the shortest already: the graph sees to that.
    """
    for node, _ in graph.best_path():
        if graph.is_expanded(node):
            continue
        if models.budget.exhausted():
            return
        for action, state in successors(models.task, graph.state(node)):
            target = graph.find(state)
            if target is not None:
                graph.connect(node, action, target)
            elif models.task.is_goal(state):
                graph.add(node, action, state, 0.0, evaluated=True)
