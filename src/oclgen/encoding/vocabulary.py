"""The tokens that a model of `words` reads and writes, from a domain and a bound on its objects.

Token ids, stable for a given domain and `[encoding]` table:

    0..5   `<pad>` `<begin>` `<goal>` `<actions>` `<end>` `<not>`
    then   operators, in the order of the domain file
    then   encoded predicates: those that actions change, then static ones, each in the order of the domain file
    then   object tokens: the domain's constants, then the names of each pool

Objects of a pool share its tokens. Where names carry no meaning (the blocks of Blocksworld) any object may
take any token of the pool; where they do (the cells of Sokoban) an object must be called exactly so.

Paper: Section 3 (tokens derived from the PDDL domain, a domain-specific bound on the number of objects).
"""

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from oclgen.errors import InputError
from oclgen.pddl.model import DomainInfo

PAD, BEGIN, GOAL, ACTIONS, END, NOT = range(6)
SPECIALS = ("<pad>", "<begin>", "<goal>", "<actions>", "<end>", "<not>")
FORMAT = 1
HEADROOM = 1.5
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")


@dataclass(frozen=True)
class Pool:
    """Tokens shared by the objects of some types."""

    types: tuple[str, ...]
    names: tuple[str, ...]
    meaningful: bool


@dataclass(frozen=True)
class Symbol:
    """An operator or a predicate; only predicates can be `static`."""

    name: str
    arity: int
    static: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """All tokens of one model; see the module for their ids."""

    domain: str
    operators: tuple[Symbol, ...]
    predicates: tuple[Symbol, ...]
    constants: tuple[str, ...]
    pools: tuple[Pool, ...]
    left_out: tuple[str, ...]

    def __post_init__(self) -> None:
        doubled = _duplicates(self.objects)
        if doubled:
            raise InputError(f"encoding of {self.domain}: object token '{doubled[0]}' stands in more than one place")

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """Texts of the object tokens; the token of `objects[i]` is `first_object + i`."""
        return self.constants + tuple(name for pool in self.pools for name in pool.names)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Text of every token, by id. Texts may repeat across kinds (an object called like a predicate)."""
        return (
            SPECIALS
            + tuple(operator.name for operator in self.operators)
            + tuple(predicate.name for predicate in self.predicates)
            + self.objects
        )

    @property
    def size(self) -> int:
        return len(self.tokens)

    @property
    def first_operator(self) -> int:
        return len(SPECIALS)

    @property
    def first_predicate(self) -> int:
        return len(SPECIALS) + len(self.operators)

    @property
    def first_object(self) -> int:
        return self.first_predicate + len(self.predicates)

    @cached_property
    def slots(self) -> int:
        """Largest arity of an encoded predicate."""
        return max((predicate.arity for predicate in self.predicates), default=0)

    @cached_property
    def operator_ids(self) -> dict[str, int]:
        return {symbol.name: self.first_operator + i for i, symbol in enumerate(self.operators)}

    @cached_property
    def predicate_indices(self) -> dict[str, int]:
        """Predicate -> its index among the encoded ones (token id minus `first_predicate`)."""
        return {symbol.name: i for i, symbol in enumerate(self.predicates)}

    @cached_property
    def object_ids(self) -> dict[str, int]:
        return {name: self.first_object + i for i, name in enumerate(self.objects)}

    @cached_property
    def pool_of_type(self) -> dict[str, Pool]:
        return {type_name: pool for pool in self.pools for type_name in pool.types}

    def pool_ids(self, pool: Pool) -> range:
        """The token ids of a pool."""
        first = self.object_ids[pool.names[0]] if pool.names else self.size
        return range(first, first + len(pool.names))

    def to_json(self) -> str:
        table = {
            "format": FORMAT,
            "domain": self.domain,
            "specials": SPECIALS,
            "operators": [[symbol.name, symbol.arity] for symbol in self.operators],
            "predicates": [[symbol.name, symbol.arity, symbol.static] for symbol in self.predicates],
            "constants": self.constants,
            "pools": [{"types": p.types, "names": p.names, "meaningful": p.meaningful} for p in self.pools],
            "left_out": self.left_out,
        }
        return json.dumps(table, indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> "Vocabulary":
        try:
            table = json.loads(text)
            if table["format"] != FORMAT or tuple(table["specials"]) != SPECIALS:
                raise InputError("vocabulary of another format version")
            return Vocabulary(
                domain=str(table["domain"]),
                operators=tuple(Symbol(str(name), int(arity)) for name, arity in table["operators"]),
                predicates=tuple(Symbol(str(name), int(arity), bool(s)) for name, arity, s in table["predicates"]),
                constants=tuple(table["constants"]),
                pools=tuple(Pool(tuple(p["types"]), tuple(p["names"]), p["meaningful"]) for p in table["pools"]),
                left_out=tuple(table["left_out"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"broken vocabulary: {error!r}") from error


def build_vocabulary(info: DomainInfo, encoding_table: Mapping[str, Any]) -> Vocabulary:
    """The vocabulary of a domain, from the `[encoding]` table of its defaults.toml."""
    unknown = set(encoding_table) - {"left_out", "pool"}
    if unknown:
        raise InputError(f"[encoding] of {info.name}: unknown key '{min(unknown)}'; known: left_out, pool")
    left_out = tuple(encoding_table.get("left_out", ()))
    for name in left_out:
        if name not in info.static_predicates:
            raise InputError(f"[encoding] of {info.name}: left_out '{name}' is not a static predicate of the domain")
    kept = [
        Symbol(name, predicate.arity, name in info.static_predicates)
        for name, predicate in info.predicates.items()
        if name not in left_out
    ]
    return Vocabulary(
        domain=info.name,
        operators=tuple(Symbol(name, operator.arity) for name, operator in info.operators.items()),
        predicates=tuple(sorted(kept, key=lambda symbol: symbol.static)),
        constants=tuple(info.constants),
        pools=_pools(info, encoding_table.get("pool", ())),
        left_out=left_out,
    )


def pools_from_problems(problems: Iterable[Mapping[str, str]], constants: Iterable[str] = ()) -> dict[str, Any]:
    """An `[encoding]` table for a user's domain: one pool of meaningless names per type seen.

    `problems` gives each problem's objects (object -> declared type). A pool has room for half as many
    objects again as the largest problem; `#` keeps its names apart from anything PDDL can name.
    """
    most: dict[str, int] = {}
    ignored = set(constants)
    for objects in problems:
        counts: dict[str, int] = {}
        for name, type_name in objects.items():
            if name not in ignored:
                counts[type_name] = counts.get(type_name, 0) + 1
        for type_name, count in counts.items():
            most[type_name] = max(count, most.get(type_name, 0))
    pools = [
        {"types": [name], "names": [f"{name}#{{1..{int(most[name] * HEADROOM + 0.5)}}}"], "meaningful": False}
        for name in sorted(most)
    ]
    return {"left_out": [], "pool": pools}


def expand(pattern: str) -> list[str]:
    """`"f{0..1}-{0..1}f"` -> f0-0f, f0-1f, f1-0f, f1-1f."""
    parts = _RANGE.split(pattern)
    ranges = [range(int(low), int(high) + 1) for low, high in zip(parts[1::3], parts[2::3], strict=True)]
    texts = parts[0::3]
    return [
        texts[0] + "".join(f"{number}{text}" for number, text in zip(numbers, texts[1:], strict=True))
        for numbers in itertools.product(*ranges)
    ]


def _pools(info: DomainInfo, tables: Iterable[Mapping[str, Any]]) -> tuple[Pool, ...]:
    """Pools with every type that falls to them, a type without a pool of its own taking its parent's."""
    tables = list(tables)
    own: dict[str, int] = {}
    for i, table in enumerate(tables):
        unknown = set(table) - {"types", "names", "meaningful"}
        if unknown:
            raise InputError(f"[[encoding.pool]] of {info.name}: unknown key '{min(unknown)}'")
        for type_name in table["types"]:
            if type_name in own or type_name not in info.types:
                problem = "stands in two pools" if type_name in own else "is not declared in the domain"
                raise InputError(f"[[encoding.pool]] of {info.name}: type '{type_name}' {problem}")
            own[type_name] = i
    members: list[list[str]] = [[] for _ in tables]
    for type_name in info.types:
        index = _inherited(type_name, own, info.types)
        if index is not None:
            members[index].append(type_name)
    return tuple(
        Pool(tuple(types), tuple(name for pattern in table["names"] for name in expand(pattern)), table["meaningful"])
        for table, types in zip(tables, members, strict=True)
    )


def _inherited(type_name: str, own: Mapping[str, int], parents: Mapping[str, str | None]) -> int | None:
    current: str | None = type_name
    while current is not None and current not in own:
        current = parents[current]
    return None if current is None else own[current]


def _duplicates(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
