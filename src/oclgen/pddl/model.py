"""What a checked domain and a checked problem say: plain values, no positions, no parser, no search."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from oclgen.interfaces import Atom

ROOT_TYPE = "object"


@dataclass(frozen=True, slots=True)
class Signature:
    """A predicate or function: for each argument the types it may have (several for `either`)."""

    name: str
    types: tuple[tuple[str, ...], ...]

    @property
    def arity(self) -> int:
        return len(self.types)


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom over variables and objects that must be true or false; `("=", a, b)` is equality."""

    atom: Atom
    positive: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """An action schema. `costs` are added to total-cost: numbers or function terms."""

    name: str
    parameters: tuple[str, ...]
    types: tuple[tuple[str, ...], ...]
    precondition: tuple[Literal, ...]
    effect: tuple[Literal, ...]
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
        changed = {literal.atom[0] for operator in self.operators.values() for literal in operator.effect}
        return frozenset(self.predicates) - changed

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
    goal: tuple[frozenset[Atom], frozenset[Atom]]
    values: dict[Atom, float]
    minimizes_cost: bool

    def members(self, allowed: Iterable[str]) -> frozenset[str]:
        """The objects of a type or of a union of types."""
        wanted = frozenset(allowed)
        return frozenset(name for name, kind in self.objects.items() if self.domain.fits(kind, wanted))
