"""Part I of N of some work, for batch systems: the same command on each machine, with another number."""

import re
from dataclasses import dataclass

from oclgen.errors import InputError


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` (from 1) of `count`."""

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError(f"shard {self.number}/{self.count}: the first number must lie between 1 and the second")

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """`3/8`."""
        found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if found is None:
            raise InputError(f"{text!r} is not a shard; write I/N, for example 3/8")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def has(self, index: int) -> bool:
        """Whether item number `index` (from 0) of a list is in this part."""
        return index % self.count == self.number - 1

    def share(self, size: int) -> int:
        """How many of the first `size` items are in this part."""
        return len(range(self.number - 1, size, self.count))


WHOLE = Shard()
