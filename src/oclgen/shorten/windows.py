"""Windows of a plan as problems of their own, for a classical planner to solve in fewer steps.

The window's problem starts in the state before it and asks only for what the rest of the plan needs: the goal
regressed through the actions after the window. So a new window need not end in the same state as the old one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from oclgen.interfaces import Action, Atom, Plan
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.normal_form import NormalForm, normal_form

Condition = tuple[frozenset[Atom], frozenset[Atom]]
"""Atoms that must be true and atoms that must be false."""


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


def window_problem(info: ProblemInfo, state: Iterable[Atom], rest: Plan) -> NormalForm:
    """The problem of getting from a state to where the rest of a plan can follow and ends at the goal."""
    return normal_form(replace(info, init=frozenset(state), goal=regress(info, rest)))


def regress(info: ProblemInfo, plan: Plan) -> Condition:
    """What must hold before a plan so that it can be followed and reaches the goal."""
    positive, negative = map(set, info.goal)
    for action in reversed(plan):
        operator = info.domain.operators[action[0]]
        binding = dict(zip(operator.parameters, action[1:], strict=True))
        effects = [(literal.positive, bound(literal.atom, binding)) for literal in operator.effect]
        added = {atom for is_added, atom in effects if is_added}
        positive -= added
        negative -= {atom for is_added, atom in effects if not is_added} - added
        for literal in operator.precondition:
            if literal.atom[0] != "=":
                (positive if literal.positive else negative).add(bound(literal.atom, binding))
    return frozenset(positive), frozenset(negative)


def bound(atom: Atom, binding: dict[str, str]) -> Atom:
    return (atom[0], *(binding.get(term, term) for term in atom[1:]))


def named(form: NormalForm, plan: Plan) -> Plan:
    """A plan of the window's problem in the names of the user."""
    return tuple(named_action(form, action) for action in plan)


def named_action(form: NormalForm, action: Action) -> Action:
    return (form.operators[action[0]], *(form.objects[name] for name in action[1:]))
