"""A folder of drawn problems: `domain.pddl` beside `p00001.pddl`, `p00002.pddl`, ..."""

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

from oclgen.domains.catalog import DomainSpec, distinct, draw
from oclgen.domains.defaults import Range
from oclgen.errors import InputError
from oclgen.support.files import write_text


def write_problems(
    spec: DomainSpec, out: Path, count: int, seed: int, changes: Mapping[str, Range], on_written: Callable[[int], None]
) -> None:
    """Write `count` different problems; where there are fewer, write those and say so as an `InputError`."""
    draw(spec, seed, 0, changes)  # refuse impossible parameters before the folder is touched
    make_empty_folder(out)
    write_text(out / "domain.pddl", spec.domain_text)
    made = 0
    for made, drawn in enumerate(islice(distinct(spec, seed, changes), count), start=1):
        write_text(out / f"p{made:05}.pddl", drawn.text)
        on_written(made)
    if made < count:
        raise InputError(f"only {made} different problems could be made of the {count} asked for; they are in {out}")


def make_empty_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        occupied = any(out.iterdir())
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from error
    if occupied:
        raise InputError(f"{out}: not empty; give a new folder")
