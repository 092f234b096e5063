"""Action elimination: leave out of a plan what the rest of it can do without.

For each action in turn: without it, and without the later actions that need it and so cannot be taken any more, is the
goal still reached? Then all of them go. Quadratic in the length of the plan, and no model is asked. Not of the paper;
H. Nakhost and M. Mueller, "Action Elimination and Plan Neighborhood Graph Search", ICAPS 2010.
"""

from collections.abc import Callable, Sequence

from oclgen.interfaces import Action, Plan, State, Task


def eliminate(task: Task, plan: Plan, should_stop: Callable[[], bool]) -> Plan:
    """A plan made of some of the given plan's actions, in their order; no shorter than there was time for."""
    state, kept, rest = task.initial_state, list[Action](), list(plan)
    while rest and not should_stop():
        action, *later = rest
        without = applicable_part(task, state, later)
        if without is not None:
            rest = without
        else:
            state = task.apply(state, action)
            kept.append(action)
            rest = later
    return (*kept, *rest)


def applicable_part(task: Task, state: State, actions: Sequence[Action]) -> list[Action] | None:
    """Those actions that can be taken when all others are left out, if they lead to the goal."""
    taken = []
    for action in actions:
        successor = task.apply(state, action)
        if successor is not None:
            state = successor
            taken.append(action)
    return taken if task.is_goal(state) else None
