"""Problems of the shipped domains to begin with, of the sizes that the domains show."""

import asyncio
from functools import cache, lru_cache
from typing import Annotated

from fastapi import Query

from oclgen.domains import catalog

SEED = 2026
Number = Annotated[int, Query(ge=0, lt=1000)]


@cache
def names() -> list[str]:
    """The shipped domains that say what they show."""
    return [name for name in catalog.names() if catalog.load(name).defaults.demo]


@lru_cache(maxsize=64)
def drawn(name: str, number: int) -> tuple[str, str]:
    spec = catalog.load(name)
    return spec.domain_text, catalog.draw(spec, SEED, number, spec.defaults.demo).text


async def example(name: str, number: int) -> tuple[str, str]:
    """Domain and problem, always the same for the same number."""
    return await asyncio.to_thread(drawn, name, number)
