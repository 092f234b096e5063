"""Why a plan works: literals of the states on its way that are enough for it.

A condition that holds is explained by literals that hold: all parts of a conjunction, one part of a disjunction. So
what a plan needs in the state where it begins is a conjunction, whatever its actions' conditions and effects are. It
is sufficient; where a disjunction holds for several reasons it is not necessary.
"""

from collections import defaultdict
from collections.abc import Iterator, Set

from oclgen.interfaces import Action, Atom, Plan
from oclgen.pddl.checking.evaluation import Change, advance, changes, holds, operator_binding
from oclgen.pddl.compiling.grounding import Binding, bindings, bound
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.reading.conditions import Condition, Conjunction, Literal, Negation, Quantified


def needed(info: ProblemInfo, state: Set[Atom], plan: Plan) -> frozenset[Literal]:
    """Literals of a state from which a plan can be followed to the goal, and from every other state that has them."""
    states = [set(state)]
    for action in plan:
        states.append(set(states[-1]))
        advance(info, states[-1], action)
    literals = frozenset(_Reasons(info, states[-1]).of(info.goal_condition, True, {}))
    for action, before in zip(reversed(plan), reversed(states[:-1]), strict=True):
        literals = frozenset(_Reasons(info, before).before(action, literals))
    return literals


class _Reasons:
    """In one state."""

    def __init__(self, info: ProblemInfo, state: Set[Atom]) -> None:
        self._info, self._state = info, state

    def of(self, condition: Condition, true: bool, binding: Binding) -> Iterator[Literal]:
        """Literals that make a condition true or false, as it is in this state."""
        if isinstance(condition, Literal):
            if condition.atom[0] != "=":
                yield Literal(bound(condition.atom, binding), condition.positive is true)
            return
        if isinstance(condition, Negation):
            yield from self.of(condition.part, not true, binding)
            return
        parts: Iterator[tuple[Condition, Binding]]
        if isinstance(condition, Quantified):
            takes_all = condition.universal is true
            parts = ((condition.body, each) for each in bindings(condition, binding, self._info.listed))
        else:
            takes_all = isinstance(condition, Conjunction) is true
            parts = ((part, binding) for part in condition.parts)
        if not takes_all:
            parts = iter([next((part, each) for part, each in parts if self._holds(part, each) is true)])
        for part, each in parts:
            yield from self.of(part, true, each)

    def before(self, action: Action, after: Set[Literal]) -> Iterator[Literal]:
        """What makes an action applicable and the literals true after it."""
        operator = self._info.domain.operators[action[0]]
        yield from self.of(operator.precondition, True, operator_binding(operator, action))
        possible: dict[Literal, list[Change]] = defaultdict(list)
        for change in changes(operator, action, self._info.listed):
            possible[Literal(change.atom, change.adds)].append(change)
        for literal in after:
            opposite = possible[Literal(literal.atom, not literal.positive)]
            made = next((each for each in possible[literal] if self._holds(each.condition, each.binding)), None)
            if made is not None:
                yield from self.of(made.condition, True, made.binding)
            else:
                yield literal
            if made is None or not literal.positive:  # an add wins over any delete
                for each in opposite:
                    yield from self.of(each.condition, False, each.binding)

    def _holds(self, condition: Condition, binding: Binding) -> bool:
        return holds(condition, self._state, binding, self._info.listed)
