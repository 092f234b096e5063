"""An independent validator: sets of atoms and the definition of PDDL, no code of the successor generator.

An action's preconditions must hold in the state before it; then its deletes go and its adds come, so an
atom that an action both deletes and adds is true afterwards.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from oclgen.interfaces import Action, Atom
from oclgen.pddl.model import Literal, Operator, ProblemInfo
from oclgen.pddl.problem import read_problem


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
            except BrokenStep as broken:
                return Verdict(False, len(plan), number, f"step {number} {spelled(action)}: {broken}")
        for reason in self._open_goals(state):
            return Verdict(False, len(plan), None, reason)
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
        binding = dict(zip(operator.parameters, action[1:], strict=True))
        for literal in operator.precondition:
            if not _holds(literal, state, binding):
                wanted = spelled(_bound(literal.atom, binding))
                raise BrokenStep(f"precondition {wanted if literal.positive else f'(not {wanted})'} does not hold")
        changes = [(literal.positive, _bound(literal.atom, binding)) for literal in operator.effect]
        state.difference_update(atom for positive, atom in changes if not positive)
        state.update(atom for positive, atom in changes if positive)
        return self._cost(operator, binding)

    def _cost(self, operator: Operator, binding: dict[str, str]) -> float:
        total = 0.0
        for amount in operator.costs:
            total += self.info.values.get(_bound(amount, binding), 0.0) if isinstance(amount, tuple) else amount
        return total

    def _open_goals(self, state: set[Atom]) -> Iterator[str]:
        positive, negative = self.info.goal
        for atom in sorted(positive - state):
            yield f"goal {spelled(atom)} does not hold at the end"
        for atom in sorted(negative & state):
            yield f"goal (not {spelled(atom)}) does not hold at the end"


def _bound(atom: Atom, binding: dict[str, str]) -> Atom:
    return (atom[0], *(binding.get(term, term) for term in atom[1:]))


def _holds(literal: Literal, state: set[Atom], binding: dict[str, str]) -> bool:
    atom = _bound(literal.atom, binding)
    true = atom[1] == atom[2] if atom[0] == "=" else atom in state
    return true is literal.positive


def spelled(atom: Atom | Action) -> str:
    return f"({' '.join(atom)})"
