"""Proven optimal plan lengths, kept beside the problems they belong to.

`optima.json` maps a problem (its name in a data set, its path within a folder) to the length of a shortest
plan, proved by A* with LM-cut. Failed attempts are kept with their time limit, so that another run continues
with the rest and tries again only with more time. Paper: Section 5 (optimality gaps).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from oclgen.data import dataset
from oclgen.data.attempts import run_classical
from oclgen.data.problems import folder_defaults
from oclgen.errors import InputError, OclgenError
from oclgen.pddl.reading.source import read_file
from oclgen.search.anytime import Ending
from oclgen.support.files import locked, read_json, write_json
from oclgen.support.parallel import Workers, run_unordered


@dataclass(frozen=True, slots=True)
class Proof:
    """A problem, and the limits of its proof."""

    name: str
    domain: str
    problem: str
    translate_options: tuple[str, ...]
    time_limit: float
    memory_limit: int


@dataclass(frozen=True, slots=True)
class Proved:
    """`length` is None where the limit came first or there is no plan."""

    name: str
    length: int | None
    seconds: float


class Optima:
    """`optima.json` and its list of failed attempts; both are whole at any moment."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "optima.json"
        self._tried_path = folder / "optima-unproved.json"
        self.lengths: dict[str, int] = read_json(self._path) if self._path.exists() else {}
        self.tried: dict[str, float] = read_json(self._tried_path) if self._tried_path.exists() else {}

    def settled(self, name: str, time_limit: float) -> bool:
        return name in self.lengths or self.tried.get(name, -1.0) >= time_limit

    def add(self, proved: Proved, time_limit: float) -> None:
        if proved.length is None:
            self.tried[proved.name] = time_limit
            write_json(self._tried_path, self.tried, indent=0)
        else:
            self.lengths[proved.name] = proved.length
            write_json(self._path, self.lengths, indent=0)


def prove_all(
    folder: Path, *, split: str, limit: int | None, time_limit: float, memory_limit: int, workers: Workers
) -> Iterator[tuple[int, Proved | None]]:
    """Prove the first `limit` problems; yield how many are left, first with None and then after each result."""
    with locked(folder, "optima.lock"):
        optima = Optima(folder)
        wanted = [name for name, _ in islice(problems(folder, split), limit)]
        left = {name for name in wanted if not optima.settled(name, time_limit)}
        yield len(left), None
        domain, options = read_file(folder / "domain.pddl", "domain").text, translate_options(folder)
        jobs = (
            Proof(name, domain, text, options, time_limit, memory_limit)
            for name, text in islice(problems(folder, split), limit)
            if name in left
        )
        for done, proved in enumerate(run_unordered(prove, jobs, workers), 1):
            optima.add(proved, time_limit)
            yield len(left) - done, proved


def problems(folder: Path, split: str) -> Iterator[tuple[str, str]]:
    """Names and texts: rows of a data set, or the files of a folder."""
    if (folder / "recipe.json").exists():
        yield from ((row.name, row.problem) for row in dataset.open_dataset(folder).rows(split))
        return
    files = sorted(path for path in folder.rglob("*.pddl") if path.name != "domain.pddl")
    if not files:
        raise InputError(f"{folder}: neither a data set nor a folder with problems")
    for path in files:
        yield str(path.relative_to(folder)), read_file(path, "problem").text


def translate_options(folder: Path) -> tuple[str, ...]:
    if (folder / "recipe.json").exists():
        return dataset.open_dataset(folder).translate_options
    defaults = folder_defaults(folder)
    return defaults.teacher.translate_options if defaults else ()


def prove(job: Proof) -> Proved:
    try:
        result = run_classical(
            "lmcut",
            job.domain,
            job.problem,
            seconds=job.time_limit,
            memory_bytes=job.memory_limit,
            translate_options=job.translate_options,
        )
    except OclgenError as error:
        raise type(error)(f"{job.name}: {error}") from None
    plan = result.plan if result.ending is Ending.EXHAUSTED else None
    return Proved(job.name, None if plan is None else len(plan), result.seconds)
