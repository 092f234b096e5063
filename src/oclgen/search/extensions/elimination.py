"""Action elimination: remove actions that a plan does not need.

Each action in turn is removed, together with the later actions that become inapplicable without it. If the rest still
reaches the goal, they stay removed. This takes time quadratic in the length of the plan and asks no model. Not in the
paper; H. Nakhost and M. Mueller, "Action Elimination and Plan Neighborhood Graph Search", ICAPS 2010.
"""

from collections.abc import Callable, Sequence

from oclgen.interfaces import Action, FactTask, Plan, State, Task
from oclgen.search.extensions.facts import reaches_goal


def eliminate_actions(task: Task, plan: Plan, should_stop: Callable[[], bool]) -> Plan:
    """A plan without the actions it does not need, in the same order. `should_stop` ends the work early."""
    state, kept, rest = task.initial_state, list[Action](), list(plan)
    while rest and not should_stop():
        action, *later = rest
        shorter = applicable_part(task, state, later)
        if shorter is not None:
            rest = shorter
        else:
            state = task.apply(state, action)
            kept.append(action)
            rest = later
    return (*kept, *rest)


def applicable_part(task: Task, state: State, actions: Sequence[Action]) -> list[Action] | None:
    """The actions that are still applicable, each in turn, if they lead to the goal; else None."""
    if isinstance(task, FactTask) and task.follows_facts and not reaches_goal(task, state, actions):
        return None
    taken = []
    for action in actions:
        successor = task.apply(state, action)
        if successor is not None:
            state = successor
            taken.append(action)
    return taken if task.is_goal(state) else None
