"""Windows of a plan as problems of their own, for a classical planner to solve in fewer steps.

The window's problem starts in the state before it and asks only for what the rest of the plan needs
(`oclgen.pddl.checking.reasons`). So a new window need not end in the same state as the old one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from oclgen.interfaces import Action, Atom, Plan
from oclgen.pddl.checking.evaluation import advance
from oclgen.pddl.checking.reasons import needed
from oclgen.pddl.compiling.normal_form import NormalForm, plain_form
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.reading.conditions import Conjunction


@dataclass(frozen=True, slots=True)
class Window:
    """Steps `first` to `last` (exclusive) of a plan."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first


def windows(length: int, size: int) -> Iterator[Window]:
    """Windows that overlap by half, from the end of a plan to its beginning; one where the plan is no longer."""
    if size >= length:
        yield Window(0, length)
        return
    for last in range(length, 0, -max(1, size // 2)):
        yield Window(max(0, last - size), last)
        if last <= size:
            return


def window_problem(info: ProblemInfo, state: Iterable[Atom], window: Plan, rest: Plan) -> NormalForm:
    """The problem of getting from a state to where the rest of a plan can follow and ends at the goal, as the steps of
    the window do."""
    after = set(state)
    for action in window:
        advance(info, after, action)
    wanted = sorted(needed(info, after, rest), key=attrgetter("atom"))
    return plain_form(replace(info, init=frozenset(state), goal_condition=Conjunction(tuple(wanted))))


def named(form: NormalForm, plan: Plan) -> Plan:
    """A plan of the window's problem in the names of the user."""
    return tuple(named_action(form, action) for action in plan)


def named_action(form: NormalForm, action: Action) -> Action:
    return (form.operators[action[0]], *(form.objects[name] for name in action[1:]))
