"""What a domain folder's `defaults.toml` says, as checked values: an unknown key or a wrong type is an error.

Paper: Appendix A (ranges of the instances), tab:test_time_hyperparameters (the `[solve]` table).
"""

import math
import random
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from oclgen.errors import InputError
from oclgen.support.settings import build, check_keys, check_value, read_table

WEIGHTS = ("uniform", "log")
MAX_VALUES = 1_000_000


@dataclass(frozen=True)
class Range:
    """The values a generator parameter takes, with equal weights or weights proportional to their logarithm."""

    values: tuple[int, ...]
    weights: str = "uniform"

    def sample(self, rng: random.Random) -> int:
        if self.weights == "uniform" or len(self.values) == 1:
            return rng.choice(self.values)
        return rng.choices(self.values, [math.log(max(value, 1)) for value in self.values])[0]


@dataclass(frozen=True)
class SolveDefaults:
    """Test-time settings of the search."""

    n_init: int
    max_tokens: int
    confidence: float
    percentile: float
    policy_expansion_threshold: int


@dataclass(frozen=True)
class PoolDefaults:
    """Object tokens: which types draw from it, its names (with brace ranges), and whether names carry information."""

    types: tuple[str, ...]
    names: tuple[str, ...]
    meaningful: bool


@dataclass(frozen=True)
class EncodingDefaults:
    """Static predicates that prompts leave out, and the pools of object tokens."""

    left_out: tuple[str, ...]
    pool: tuple[PoolDefaults, ...]

    def as_table(self) -> dict[str, Any]:
        """Plain lists and dictionaries, as in the file."""
        return {"left_out": list(self.left_out), "pool": [as_lists(asdict(pool)) for pool in self.pool]}


@dataclass(frozen=True)
class TeacherDefaults:
    """What Fast Downward needs to be told for this domain."""

    translate_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Defaults:
    """One `defaults.toml`; `demo` narrows ranges of `generate` to the problem that `oclgen demo` shows."""

    domain: str
    generate: dict[str, Range]
    solve: SolveDefaults
    encoding: EncodingDefaults
    teacher: TeacherDefaults = TeacherDefaults()
    demo: dict[str, Range] = field(default_factory=dict)


def read_defaults(path: Path) -> Defaults:
    """Raises `InputError` naming the file, the table and the key."""
    table = read_table(path)
    for key in {"generate", "demo"} & table.keys():
        table[key] = ranges(table[key], f"{path}: [{key}]")
    defaults = build(Defaults, table, str(path))
    check_keys(defaults.demo, defaults.generate, f"{path}: [demo]")
    return defaults


def ranges(table: Any, where: str) -> dict[str, Range]:
    """Each value a whole number, or `{low = 3, high = 25, weights = "log"}`."""
    if not isinstance(table, dict):
        raise InputError(f"{where} must be a table")
    return {key: range_of(value, f"{where}: {key}") for key, value in table.items()}


def range_of(value: Any, where: str) -> Range:
    if isinstance(value, dict):
        check_keys(value, ["low", "high", "weights"], where, required=("low", "high"))
        low, high = (check_value(value[key], int, f"{where}.{key}") for key in ("low", "high"))
        weights = value.get("weights", "uniform")
        if weights not in WEIGHTS:
            raise InputError(f"{where}: weights must be one of {', '.join(WEIGHTS)}")
        return Range(span(low, high, where), weights)
    return Range((check_value(value, int, where),))


def parse_range(text: str, weights: str, where: str) -> Range:
    """`7`, `3..25`, or several of them: `3..10,13..17`."""
    values: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\.\.(\d+))?\s*", part)
        if match is None or len(part) > 40:
            raise InputError(f"{where}: {part!r} is neither a whole number nor a range such as 3..25")
        values += span(int(match[1]), int(match[2] or match[1]), where)
    return Range(tuple(dict.fromkeys(values)), weights)


def span(low: int, high: int, where: str) -> tuple[int, ...]:
    if not 0 <= high - low < MAX_VALUES:
        raise InputError(f"{where}: the range {low}..{high} is empty or too long")
    return tuple(range(low, high + 1))


def as_lists(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in table.items()}
