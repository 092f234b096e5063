"""What conditions and effects mean in a state, by the definition of PDDL, on the syntax tree of the user's files.

An action's effects look at the state before it; then its deletes go and its adds come, so an atom that an action both
deletes and adds is true afterwards.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass

from oclgen.interfaces import Action, Atom
from oclgen.pddl.compiling.grounding import Binding, Listed, bindings, bound
from oclgen.pddl.model import Operator, ProblemInfo
from oclgen.pddl.reading.conditions import Condition, Conjunction, Disjunction, Literal, Negation, Quantified

MAX_SHOWN = 200


def operator_binding(operator: Operator, action: Action) -> Binding:
    return dict(zip(operator.parameters, action[1:], strict=True))


def holds(condition: Condition, state: Set[Atom], binding: Binding, listed: Listed) -> bool:
    if isinstance(condition, Literal):
        atom = bound(condition.atom, binding)
        true = atom[1] == atom[2] if atom[0] == "=" else atom in state
        return true is condition.positive
    if isinstance(condition, Negation):
        return not holds(condition.part, state, binding, listed)
    if isinstance(condition, Conjunction):
        return all(holds(part, state, binding, listed) for part in condition.parts)
    if isinstance(condition, Disjunction):
        return any(holds(part, state, binding, listed) for part in condition.parts)
    each = (holds(condition.body, state, inner, listed) for inner in bindings(condition, binding, listed))
    return all(each) if condition.universal else any(each)


@dataclass(frozen=True, slots=True)
class Change:
    """What an effect does to one atom under one choice of its variables, and whether it does in some state."""

    atom: Atom
    adds: bool
    condition: Condition
    binding: Binding


def changes(operator: Operator, action: Action, listed: Listed) -> Iterator[Change]:
    """All that an action may change, each with its condition."""
    binding = operator_binding(operator, action)
    for effect in operator.effects:
        for inner in bindings(effect, binding, listed):
            for literal in effect.literals:
                yield Change(bound(literal.atom, inner), literal.positive, effect.condition, inner)


def advance(info: ProblemInfo, state: set[Atom], action: Action) -> None:
    """Apply an action to a state in place, whether or not its precondition holds."""
    possible = changes(info.domain.operators[action[0]], action, info.listed)
    made = [each for each in possible if holds(each.condition, state, each.binding, info.listed)]
    state.difference_update(each.atom for each in made if not each.adds)
    state.update(each.atom for each in made if each.adds)


def broken_part(condition: Condition, state: Set[Atom], binding: Binding, listed: Listed) -> str | None:
    """The first part of a condition that does not hold, as PDDL; None where all holds."""
    if isinstance(condition, Conjunction):
        found = (broken_part(part, state, binding, listed) for part in condition.parts)
    elif isinstance(condition, Quantified) and condition.universal:
        inner = bindings(condition, binding, listed)
        found = (broken_part(condition.body, state, each, listed) for each in inner)
    else:
        return None if holds(condition, state, binding, listed) else shortened(text(condition, binding))
    return next((part for part in found if part is not None), None)


def shortened(whole: str) -> str:
    return whole if len(whole) <= MAX_SHOWN else whole[: MAX_SHOWN - 3] + "..."


def spelled(atom: Atom | Action) -> str:
    return f"({' '.join(atom)})"


def text(condition: Condition, binding: Binding) -> str:
    """A condition as PDDL, with objects in the place of bound variables."""
    if isinstance(condition, Literal):
        atom = spelled(bound(condition.atom, binding))
        return atom if condition.positive else f"(not {atom})"
    if isinstance(condition, Negation):
        return f"(not {text(condition.part, binding)})"
    if isinstance(condition, Quantified):
        hidden = {name: name for name in condition.variables}
        declared = " ".join(_declared(*pair) for pair in zip(condition.variables, condition.types, strict=True))
        word = "forall" if condition.universal else "exists"
        return f"({word} ({declared}) {text(condition.body, {**binding, **hidden})})"
    word = "and" if isinstance(condition, Conjunction) else "or"
    return f"({' '.join([word, *(text(part, binding) for part in condition.parts)])})"


def _declared(name: str, types: tuple[str, ...]) -> str:
    return f"{name} - {types[0]}" if len(types) == 1 else f"{name} - (either {' '.join(types)})"
