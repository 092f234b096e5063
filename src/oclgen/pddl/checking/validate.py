"""An independent validator: sets of atoms and the definition of PDDL, no code of the successor generator.

It reads conditions and effects off the syntax tree of the user's files (`evaluation`), never off a compiled form.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from oclgen.interfaces import Action, Atom
from oclgen.pddl.checking.evaluation import advance, broken_part, operator_binding, spelled
from oclgen.pddl.compiling.grounding import Binding, bound
from oclgen.pddl.model import Operator, ProblemInfo
from oclgen.pddl.reading.problem import read_problem


@dataclass(frozen=True, slots=True)
class Verdict:
    """`step` counts from 1 and is None where all steps work but the goal is not reached.

    `value` is the plan's total cost where the problem asks to minimise it, else its length.
    """

    valid: bool
    length: int
    step: int | None = None
    reason: str = ""
    value: float = 0


class BrokenStep(Exception):
    """Why one action cannot be taken."""


def validate(domain: Path | str, problem: Path | str, plan: Sequence[Action]) -> Verdict:
    return Validator(domain, problem).check(plan)


class Validator:
    """A problem read once, to check many plans."""

    def __init__(self, domain: Path | str, problem: Path | str) -> None:
        self.info = read_problem(domain, problem)

    @classmethod
    def of(cls, info: ProblemInfo) -> Self:
        """For a problem that has been read already."""
        validator = cls.__new__(cls)
        validator.info = info
        return validator

    def check(self, plan: Sequence[Action]) -> Verdict:
        state = set(self.info.init)
        cost = 0.0
        for number, action in enumerate(plan, 1):
            try:
                cost += self._advance(state, action)
            except BrokenStep as fault:
                return Verdict(False, len(plan), number, f"step {number} {spelled(action)}: {fault}")
        if broken := self.open_goal(state):
            return Verdict(False, len(plan), None, f"goal {broken} does not hold at the end")
        return Verdict(True, len(plan), value=cost if self.info.minimizes_cost else len(plan))

    def states(self, plan: Sequence[Action]) -> list[frozenset[Atom]]:
        """The non-static atoms after each prefix of a plan, the empty one included; raises on a broken step."""
        static = self.info.domain.static_predicates
        state = {atom for atom in self.info.init if atom[0] not in static}
        fixed = {atom for atom in self.info.init if atom[0] in static}
        found = [frozenset(state)]
        for action in plan:
            full = state | fixed
            self._advance(full, action)
            state = full - fixed
            found.append(frozenset(state))
        return found

    def malformed(self, action: Action) -> str | None:
        """What is wrong with an action in any state: its name, its number of arguments, their names or types."""
        operator = self.info.domain.operators.get(action[0]) if action else None
        if operator is None:
            return f"unknown action {action[0] if action else '()'}"
        if len(action) - 1 != operator.arity:
            return f"{operator.name} takes {operator.arity} arguments, not {len(action) - 1}"
        for argument, types in zip(action[1:], operator.types, strict=True):
            if argument not in self.info.objects:
                return f"unknown object {argument}"
            kind = self.info.objects[argument]
            if not self.info.domain.fits(kind, types):
                return f"{argument} is of type {kind}, but {operator.name} wants {' or '.join(types)} there"
        return None

    def _advance(self, state: set[Atom], action: Action) -> float:
        """Apply an action to a state in place; returns its cost."""
        if fault := self.malformed(action):
            raise BrokenStep(fault)
        operator = self.info.domain.operators[action[0]]
        binding = operator_binding(operator, action)
        if broken := broken_part(operator.precondition, state, binding, self.info.listed):
            raise BrokenStep(f"precondition {broken} does not hold")
        advance(self.info, state, action)
        return self._cost(operator, binding)

    def _cost(self, operator: Operator, binding: Binding) -> float:
        total = 0.0
        for amount in operator.costs:
            total += self.info.values.get(bound(amount, binding), 0.0) if isinstance(amount, tuple) else amount
        return total

    def open_goal(self, state: Set[Atom]) -> str | None:
        """The first part of the goal that does not hold in a state, static atoms included."""
        return broken_part(self.info.goal_condition, state, {}, self.info.listed)
