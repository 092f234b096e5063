"""Parameter types that several verbs share: durations (`10s`, `5m`, `2h`) and memory sizes (`4G`)."""

import re

import click

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
BYTES = {"": 1 << 20, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Seconds from `10`, `10s`, `1.5m`, `2h` or `1d`, as Fast Downward's driver reads them."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", str(value).strip().lower())
        if match is None:
            self.fail(f"{value!r} is not a duration; write it like 10s, 5m or 2h", param, ctx)
        return float(match[1]) * SECONDS[match[2]]


class Memory(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Bytes from `4G`, `800M` or `100K`; a bare number means MiB, as in Fast Downward's driver."""

    name = "memory"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+)([KMG]?)", str(value).strip().upper())
        if match is None:
            self.fail(f"{value!r} is not a memory size; write it like 4G or 800M", param, ctx)
        return int(match[1]) * BYTES[match[2]]


DURATION = Duration()
MEMORY = Memory()
