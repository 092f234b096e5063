"""What a checked domain and a checked problem say: plain values, no positions, no parser, no search."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from oclgen.interfaces import Atom
from oclgen.pddl.compiling.grounding import Grounder, ground_literals
from oclgen.pddl.reading.conditions import Condition, Effect, Literal, Types, conjuncts, quantifiers

ROOT_TYPE = "object"


@dataclass(frozen=True, slots=True)
class Signature:
    """A predicate or function: for each argument the types it may have (several for `either`)."""

    name: str
    types: Types

    @property
    def arity(self) -> int:
        return len(self.types)


@dataclass(frozen=True, slots=True)
class Operator:
    """An action schema. `costs` are added to total-cost: numbers or function terms."""

    name: str
    parameters: tuple[str, ...]
    types: Types
    precondition: Condition
    effects: tuple[Effect, ...]
    costs: tuple[float | Atom, ...]

    @property
    def arity(self) -> int:
        return len(self.parameters)


@dataclass(frozen=True)
class DomainInfo:
    """All that a domain file says. `types` maps each type to its parent (`object` to None)."""

    name: str
    types: dict[str, str | None]
    constants: dict[str, str]
    predicates: dict[str, Signature]
    functions: dict[str, Signature]
    operators: dict[str, Operator]

    @cached_property
    def static_predicates(self) -> frozenset[str]:
        """Predicates that no operator changes."""
        effects = (effect for operator in self.operators.values() for effect in operator.effects)
        return frozenset(self.predicates) - {literal.atom[0] for effect in effects for literal in effect.literals}

    @cached_property
    def variable_types(self) -> tuple[tuple[str, ...], ...]:
        """The types of the variables of all operators: parameters, quantifiers, effects."""
        found: list[tuple[str, ...]] = []
        for operator in self.operators.values():
            found += [*operator.types, *(types for effect in operator.effects for types in effect.types)]
            for condition in (operator.precondition, *(effect.condition for effect in operator.effects)):
                found += [types for part in quantifiers(condition) for types in part.types]
        return tuple(dict.fromkeys(found))

    @cached_property
    def ancestors(self) -> dict[str, frozenset[str]]:
        """Each type with all types above it, itself included."""
        found: dict[str, frozenset[str]] = {}
        for name in self.types:
            chain: list[str] = []
            step: str | None = name
            while step is not None:
                chain.append(step)
                step = self.types[step]
            found[name] = frozenset(chain)
        return found

    def fits(self, declared: str, allowed: Iterable[str]) -> bool:
        """Whether an object declared as one type may stand where one of `allowed` is asked for."""
        return not self.ancestors[declared].isdisjoint(allowed)


@dataclass(frozen=True)
class ProblemInfo:
    """All that a problem file says, about one domain. `objects` holds the domain's constants first."""

    name: str
    domain: DomainInfo
    objects: dict[str, str]
    init: frozenset[Atom]
    goal_condition: Condition
    values: dict[Atom, float]
    minimizes_cost: bool

    @cached_property
    def ground_goal(self) -> Condition:
        """The goal as conjunctions and disjunctions of ground literals."""
        return Grounder(self.listed, self.init, self.domain.static_predicates).ground(self.goal_condition)

    @cached_property
    def goal(self) -> tuple[frozenset[Atom], frozenset[Atom]]:
        """The atoms that the goal wants true and those that it wants false: all of them where `is_conjunctive`,
        some of them where the goal is a disjunction."""
        literals = list(ground_literals(self.ground_goal))
        return (
            frozenset(literal.atom for literal in literals if literal.positive),
            frozenset(literal.atom for literal in literals if not literal.positive),
        )

    @cached_property
    def is_conjunctive(self) -> bool:
        """Whether reaching the goal means making all atoms of `goal` true or false."""
        return all(isinstance(part, Literal) for part in conjuncts(self.ground_goal))

    @cached_property
    def _listed(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        return {}

    def listed(self, allowed: tuple[str, ...]) -> tuple[str, ...]:
        """The objects of a type or of a union of types, in the order of their declaration."""
        known = self._listed.get(allowed)
        if known is None:
            known = tuple(name for name, kind in self.objects.items() if self.domain.fits(kind, allowed))
            self._listed[allowed] = known
        return known

    def members(self, allowed: Iterable[str]) -> frozenset[str]:
        """The same as a set."""
        return frozenset(self.listed(tuple(allowed)))
