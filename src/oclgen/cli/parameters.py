"""Parameter types that several verbs share: durations (`10s`, `5m`, `2h`) and memory sizes (`4G`)."""

from collections.abc import Callable
from typing import TypeVar

import click

from oclgen.errors import InputError
from oclgen.support.settings import parse_duration, parse_memory

Value = TypeVar("Value", int, float)


class Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Seconds; see `parse_duration`."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return float(value) if isinstance(value, int | float) else parsed(self, parse_duration, value, param, ctx)


class Memory(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Bytes; see `parse_memory`."""

    name = "memory"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return value if isinstance(value, int) else parsed(self, parse_memory, value, param, ctx)


def parsed(
    kind: click.ParamType,  # type: ignore[type-arg, unused-ignore]
    parse: Callable[[str], Value],
    value: object,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> Value:
    """A complaint becomes click's, which names the option."""
    try:
        return parse(str(value))
    except InputError as error:
        kind.fail(str(error), param, ctx)


DURATION = Duration()
MEMORY = Memory()
