"""How a course of actions enters the graph: a value for each of its states, then the states and transitions.

Paper: Section 4.4 (backed-up estimates).
"""

from math import inf
from typing import NamedTuple

from oclgen.interfaces import State, Task
from oclgen.search.context import Trajectory
from oclgen.search.graph import SearchGraph


class Estimate(NamedTuple):
    """A cost-to-go; `evaluated` tells the heuristic's own value from one backed up along a rollout."""

    h: float
    evaluated: bool


UNKNOWN = Estimate(inf, evaluated=False)
"""Of a state that the graph knows better, or that the heuristic was not asked about because the budget ended."""

Estimates = dict[State, Estimate]


def back_up(graph: SearchGraph, rollout: Trajectory, estimates: Estimates) -> None:
    """h(n_i) = h(n_j) + the steps from n_i to n_j, the nearest evaluated node after it on the rollout.

    Steps are those of the rollout, not differences of g: n_j may already be known by a shorter way. Where several
    rollouts pass through a state the least value counts, since search keeps only the best completion.
    """
    h = 0.0
    for state in reversed(rollout.states):
        value = evaluated_h(graph, state)
        known = estimates.get(state)
        if value is None and known is not None and known.evaluated:
            value = known.h
        if value is not None:
            h = value
            continue
        h += 1.0
        if known is None or h < known.h:
            estimates[state] = Estimate(h, evaluated=False)


def evaluated_h(graph: SearchGraph, state: State) -> float | None:
    """The heuristic's own value of a state, if the graph has it."""
    node = graph.find(state)
    return graph.h(node) if node is not None and graph.is_evaluated(node) else None


def add_course(graph: SearchGraph, course: Trajectory, estimates: Estimates) -> None:
    """Add the states that steps lead to from a known one."""
    node = graph.node(course.states[0])
    for step, state in zip(course.steps, course.states[1:], strict=True):
        node = graph.add(node, step.action, state, *estimates.get(state, UNKNOWN))


def close_forced(graph: SearchGraph, task: Task, course: Trajectory) -> None:
    """Close what leaves no choice on a course that was added: states with one way on, and an end without any."""
    for left, state in enumerate(reversed(course.states)):
        if not graph.has_expanded(state) and len(task.applicable(state)) == min(left, 1):
            graph.close_expanded(graph.node(state), complete=True)
