"""Settings from files and the command line: TOML or JSON tables and `KEY=VALUE` texts into checked dataclasses.

A key that a dataclass does not have, or a value that its annotation does not allow, is an `InputError` that names the
place. Durations and memory sizes are written as Fast Downward's driver reads them.
"""

import json
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from oclgen.errors import InputError

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
BYTES = {"": 1 << 20, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
WORDS: dict[str, object] = {"true": True, "false": False, "none": None}

Made = TypeVar("Made")


def read_table(path: Path) -> dict[str, Any]:
    """A TOML file, or a JSON file by its suffix, as a table."""
    try:
        text = path.read_text(encoding="utf-8")
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    require(isinstance(table, dict), f"{path}: must be a table")
    return dict(table)


def build(kind: type[Made], table: Any, where: str) -> Made:
    """A dataclass from a table; `where` is what complaints begin with. Fields may be dataclasses themselves."""
    known: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]
    needed = [field.name for field in known if field.default is MISSING and field.default_factory is MISSING]
    check_keys(table, [field.name for field in known], where, needed)
    values = check_values(kind, table, where)
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def check_keys(table: Any, known: Collection[str], where: str, required: Iterable[str] = ()) -> None:
    if not isinstance(table, Mapping):
        raise InputError(f"{where} must be a table")
    unknown = [key for key in table if key not in known]
    if unknown:
        raise InputError(f"{where}: unknown key {unknown[0]!r} (known: {', '.join(known)})")
    missing = [key for key in required if key not in table]
    if missing:
        raise InputError(f"{where}: the key {missing[0]!r} is missing")


def check_values(kind: type[Any], table: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Those values of a table that a dataclass has fields for, each checked against the field's annotation."""
    hints = get_type_hints(kind)
    prefix = f"{where}: " if where else ""
    return {key: check_value(value, hints[key], f"{prefix}{key}") for key, value in table.items() if key in hints}


def check_value(value: Any, hint: Any, name: str) -> Any:
    """The value as the annotation has it: tuples for lists, floats for whole numbers where floats are allowed."""
    if is_dataclass(hint):
        place, colon, key = name.rpartition(": ")
        return build(hint, value, f"{place}{colon}[{key}]")  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        return check_list(value, get_args(hint)[0], name)
    if get_origin(hint) is Literal:
        value = "none" if value is None and "none" in get_args(hint) else value
        require(value in get_args(hint), f"{name} must be one of {', '.join(get_args(hint))}, not {value!r}")
        return value
    allowed = tuple(get_origin(each) or each for each in alternatives(hint))
    if float in allowed and type(value) is int:
        return float(value)
    if type(value) not in allowed:  # not isinstance: True is no number here
        names = " or ".join("none" if each is NoneType else each.__name__ for each in allowed)
        raise InputError(f"{name} must be of type {names}, not {value!r}")
    return value


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the type itself."""
    return (hint,) if isinstance(hint, type) or get_origin(hint) is dict else get_args(hint)


def check_list(value: Any, hint: Any, name: str) -> tuple[Any, ...]:
    of_tables = is_dataclass(hint)
    if not isinstance(value, list | tuple):
        raise InputError(f"{name} must be a list{' of tables' if of_tables else ''}")
    if of_tables:
        return tuple(build(hint, item, f"{name} {number}") for number, item in enumerate(value, 1))
    return tuple(check_value(item, hint, f"{name}: each") for item in value)


def parse_overrides(overrides: Iterable[str]) -> dict[str, Any]:
    """`KEY=VALUE` texts as a flat table."""
    return dict(split_override(override) for override in overrides)


def apply_overrides(table: dict[str, Any], overrides: Iterable[str]) -> None:
    """`TABLE.KEY=VALUE` texts into a nested table."""
    for override in overrides:
        name, value = split_override(override)
        *tables, key = name.split(".")
        place = table
        for part in tables:
            place = place.setdefault(part, {})
            require(isinstance(place, dict), f"{override!r}: {part} is not a table")
        place[key] = value


def split_override(override: str) -> tuple[str, Any]:
    key, equals, value = override.partition("=")
    require(bool(equals and key.strip()), f"{override!r}: write this as KEY=VALUE")
    return key.strip(), parse_value(value.strip())


def parse_value(text: str) -> Any:
    """A number, true, false, none, a TOML string, list or table, or else the text itself."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if not text.startswith(('"', "'", "[", "{")):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


def parse_duration(text: str) -> float:
    """Seconds from `10`, `10s`, `1.5m`, `2h` or `1d`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip().lower())
    if match is None:
        raise InputError(f"{text!r} is not a duration; write it like 10s, 5m or 2h")
    return float(match[1]) * SECONDS[match[2]]


def format_duration(seconds: float) -> str:
    """`42s`, `7m 05s` or `3h 20m`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def parse_memory(text: str) -> int:
    """Bytes from `4G`, `800M` or `100K`; a bare number means MiB."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text.strip().upper())
    if match is None:
        raise InputError(f"{text!r} is not a memory size; write it like 4G or 800M")
    return int(match[1]) * BYTES[match[2]]
