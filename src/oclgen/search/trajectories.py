"""How trajectories enter the graph: a heuristic value for each state, then the states and transitions themselves.

Paper: Section 4.4 (backed-up estimates), Algorithm 1 (`assign_heuristics`, `G.add`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from oclgen.interfaces import Plan, State, Step, Task
from oclgen.search.context import SearchContext, Trajectory, replay
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.settings import OclgenSettings


class HeuristicValue(NamedTuple):
    """A cost-to-go. `evaluated`: the heuristic's own value, not one backed up along a trajectory."""

    h: float
    evaluated: bool


UNKNOWN = HeuristicValue(inf, evaluated=False)
"""For a state whose value in the graph stands, or that was not evaluated because the budget ended."""

HeuristicValues = dict[State, HeuristicValue]


@dataclass(frozen=True, slots=True)
class Expansion:
    """Trajectories out of one state; `complete`: one for each applicable action."""

    state: State
    trajectories: Sequence[Trajectory]
    complete: bool


def assign_heuristics(
    graph: SearchGraph, context: SearchContext, expansions: Sequence[Expansion], rollouts: Sequence[Trajectory]
) -> HeuristicValues:
    """Values for all states of one iteration: the heuristic's own, the others backed up from these."""
    return back_up_all(graph, evaluate(graph, context, expansions, rollouts), expansions, rollouts)


def evaluate(
    graph: SearchGraph, context: SearchContext, expansions: Sequence[Expansion], rollouts: Sequence[Trajectory]
) -> dict[State, float]:
    """The heuristic's values of the expanded states and of the last state of each trajectory, where the graph has none;
    all in one request."""
    states = [expansion.state for expansion in expansions]
    states += [trajectory.states[-1] for expansion in expansions for trajectory in expansion.trajectories]
    states += [rollout.states[-1] for rollout in rollouts]
    return context.estimate(state for state in states if evaluated_h(graph, state) is None)


def back_up_all(
    graph: SearchGraph, estimates: dict[State, float], expansions: Sequence[Expansion], rollouts: Sequence[Trajectory]
) -> HeuristicValues:
    values = {state: HeuristicValue(h, evaluated=True) for state, h in estimates.items()}
    for rollout in rollouts:
        back_up(graph, rollout, values)
    for expansion in expansions:
        for trajectory in expansion.trajectories:
            back_up(graph, trajectory, values)
    return values


def back_up(graph: SearchGraph, trajectory: Trajectory, values: HeuristicValues) -> None:
    """h(n_i) = h(n_j) + the steps from n_i to n_j, where n_j is the next evaluated node on the trajectory.

    Steps count along the trajectory, not as differences of g: a shorter path to n_j may be known. Where trajectories
    meet, the least value counts, because the search keeps the best completion only.
    """
    h = 0.0
    for state in reversed(trajectory.states):
        own = evaluated_h(graph, state)
        known = values.get(state)
        if own is None and known is not None and known.evaluated:
            own = known.h
        if own is not None:
            h = own
            continue
        h += 1.0
        if known is None or h < known.h:
            values[state] = HeuristicValue(h, evaluated=False)


def evaluated_h(graph: SearchGraph, state: State) -> float | None:
    """The heuristic's own value of a state, if the graph has it."""
    node = graph.find(state)
    return graph.h(node) if node is not None and graph.is_evaluated(node) else None


def add(
    graph: SearchGraph,
    context: SearchContext,
    settings: OclgenSettings,
    expansions: Sequence[Expansion],
    rollouts: Sequence[Trajectory],
    values: HeuristicValues,
) -> None:
    """Add the trajectories of one iteration to the graph and close what was expanded."""
    for rollout in rollouts:
        add_trajectory(graph, rollout, values)
    for expansion in expansions:
        node = graph.node(expansion.state)
        graph.revalue(node, *values.get(expansion.state, UNKNOWN))
        for trajectory in expansion.trajectories:
            add_trajectory(graph, trajectory, values)
        graph.close_expanded(node, expansion.complete)
    if settings.pass_through and settings.enumerates(context.task):
        for trajectory in [*rollouts, *(each for expansion in expansions for each in expansion.trajectories)]:
            close_forced_states(graph, context.task, trajectory)


def add_trajectory(graph: SearchGraph, trajectory: Trajectory, values: HeuristicValues) -> None:
    """Add the states and transitions of a trajectory that starts at a known state."""
    node = graph.node(trajectory.states[0])
    for step, state in zip(trajectory.steps, trajectory.states[1:], strict=True):
        node = graph.add(node, step.action, state, *values.get(state, UNKNOWN))


def add_plan(graph: SearchGraph, task: Task, plan: Plan) -> None:
    """Add the states of a plan, each with its distance to the end, up to a goal or an inapplicable action."""
    trajectory = replay(task, graph.state(ROOT), tuple(Step(action, 1.0) for action in plan))
    node, steps_left = ROOT, len(trajectory.steps)
    for action, state in zip(trajectory.actions, trajectory.states[1:], strict=True):
        steps_left -= 1
        node = graph.add(node, action, state, float(steps_left), evaluated=False)


def close_forced_states(graph: SearchGraph, task: Task, trajectory: Trajectory) -> None:
    """Close the forced states of an added trajectory, and its last state if that is a dead end."""
    for steps_left, state in enumerate(reversed(trajectory.states)):
        if not graph.has_expanded(state) and len(task.applicable(state)) == min(steps_left, 1):
            graph.close_expanded(graph.node(state), complete=True)
