"""What a domain folder's `defaults.toml` says, as checked values: an unknown key or a wrong type is an error.

Paper: Appendix A (ranges of the instances), tab:test_time_hyperparameters (the `[solve]` table).
"""

import math
import random
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

from oclgen.errors import InputError

Made = TypeVar("Made")

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
class Pool:
    """Object tokens: which types draw from it, its names (with brace ranges), and whether names carry information."""

    types: tuple[str, ...]
    names: tuple[str, ...]
    meaningful: bool


@dataclass(frozen=True)
class EncodingDefaults:
    """Static predicates that prompts leave out, and the pools of object tokens."""

    left_out: tuple[str, ...]
    pool: tuple[Pool, ...]

    def as_table(self) -> dict[str, Any]:
        """Plain lists and dictionaries, as in the file."""
        return {"left_out": list(self.left_out), "pool": [as_lists(asdict(pool)) for pool in self.pool]}


@dataclass(frozen=True)
class TeacherDefaults:
    """What Fast Downward needs to be told for this domain."""

    translate_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Defaults:
    """One `defaults.toml`; `train` overrides ranges of `generate` where a shipped recipe trains on less."""

    domain: str
    generate: Mapping[str, Range]
    train: Mapping[str, Range]
    solve: SolveDefaults
    encoding: EncodingDefaults
    teacher: TeacherDefaults


def read_defaults(path: Path) -> Defaults:
    """Raises `InputError` naming the file, the table and the key."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    optional: dict[str, Any] = {"train": {}, "teacher": {}}
    check_keys(optional | table, [field.name for field in fields(Defaults)], str(path))
    generate = ranges(table["generate"], f"{path}: [generate]")
    train = ranges(table.get("train", {}), f"{path}: [train]")
    check_keys(train, list(generate), f"{path}: [train]", required=())
    return Defaults(
        domain=typed(table["domain"], str, f"{path}: domain"),
        generate=generate,
        train=train,
        solve=checked(SolveDefaults, table["solve"], f"{path}: [solve]"),
        encoding=encoding_defaults(table["encoding"], f"{path}: [encoding]"),
        teacher=checked(TeacherDefaults, table.get("teacher", {}), f"{path}: [teacher]"),
    )


def encoding_defaults(table: Any, where: str) -> EncodingDefaults:
    check_keys(table, ["left_out", "pool"], where)
    pools = table["pool"]
    if not isinstance(pools, list):
        raise InputError(f"{where}: pool must be a list of tables, [[encoding.pool]]")
    return EncodingDefaults(
        left_out=typed(table["left_out"], tuple[str, ...], f"{where}: left_out"),
        pool=tuple(checked(Pool, pool, f"{where}: pool {number}") for number, pool in enumerate(pools, start=1)),
    )


def ranges(table: Any, where: str) -> dict[str, Range]:
    """Each value a whole number, or `{low = 3, high = 25, weights = "log"}`."""
    if not isinstance(table, dict):
        raise InputError(f"{where} must be a table")
    return {key: range_of(value, f"{where}: {key}") for key, value in table.items()}


def range_of(value: Any, where: str) -> Range:
    if isinstance(value, dict):
        check_keys(value, ["low", "high", "weights"], where, required=("low", "high"))
        low, high = typed(value["low"], int, f"{where}.low"), typed(value["high"], int, f"{where}.high")
        weights = value.get("weights", "uniform")
        if weights not in WEIGHTS:
            raise InputError(f"{where}: weights must be one of {', '.join(WEIGHTS)}")
        return Range(span(low, high, where), weights)
    return Range((typed(value, int, where),))


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


def checked(kind: type[Made], table: Any, where: str) -> Made:
    """A dataclass from a TOML table: every key known, every value of the annotated type."""
    known = {field.name: field.default is MISSING for field in fields(kind)}  # type: ignore[arg-type]
    check_keys(table, list(known), where, required=[key for key, needed in known.items() if needed])
    hints = get_type_hints(kind)
    return kind(**{key: typed(value, hints[key], f"{where}: {key}") for key, value in table.items()})


def check_keys(table: Any, known: list[str], where: str, required: Any = None) -> None:
    if not isinstance(table, Mapping):
        raise InputError(f"{where} must be a table")
    unknown = [key for key in table if key not in known]
    if unknown:
        raise InputError(f"{where}: unknown key {unknown[0]!r} (known: {', '.join(known)})")
    missing = [key for key in (known if required is None else required) if key not in table]
    if missing:
        raise InputError(f"{where}: the key {missing[0]!r} is missing")


def typed(value: Any, kind: Any, where: str) -> Any:
    """The value, if it is of the annotated type (int, float, str, bool or a tuple of str)."""
    if get_origin(kind) is tuple:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise InputError(f"{where} must be a list of strings")
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:  # not isinstance: True is no number here
        raise InputError(f"{where} must be of type {kind.__name__}, not {type(value).__name__}")
    return value


def as_lists(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in table.items()}
