"""The problems of a benchmark as files, each with a fingerprint that ignores object names.

Problems are generated, or taken from a data set or a folder, without duplicates and without those of excluded data
sets. The list is written once beside the records, so that a benchmark continues with exactly the same problems.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oclgen.bench.config import ProblemSource
from oclgen.domains import catalog
from oclgen.errors import InputError
from oclgen.pddl.fingerprint import problem_fingerprint
from oclgen.pddl.reading.problem import read_problem
from oclgen.support.distinct import distinct
from oclgen.support.files import read_json, write_json, write_text

LIST_NAME = "problems.json"


@dataclass(frozen=True, slots=True)
class BenchProblem:
    """A problem on disk; paths are relative to the benchmark's folder."""

    set: str
    domain: str
    name: str
    fingerprint: str
    domain_file: str
    problem_file: str
    teacher_length: int | None = None
    optimum: int | None = None
    objects: int | None = None
    """Constants of the domain included."""
    best_known: int | None = None
    """The length of the best plan that others published."""
    end_length: int | None = None
    """Runs end at a plan of at most this length."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A problem that may be a duplicate."""

    name: str
    text: str
    teacher_length: int | None = None
    optimum: int | None = None


def collect(sources: Iterable[ProblemSource], out: Path) -> list[BenchProblem]:
    """All problems, written under `out`; read back if the same sources were collected before."""
    sources = list(sources)
    asked = digest([asdict(source) for source in sources])
    path = out / LIST_NAME
    if path.exists():
        stored = read_json(path)
        if stored["sources"] == asked:
            return [BenchProblem(**problem) for problem in stored["problems"]]
    problems: list[BenchProblem] = []
    for source in sources:
        problems += write_source(source, problems, out)
    out.mkdir(parents=True, exist_ok=True)
    write_json(path, {"sources": asked, "problems": [asdict(problem) for problem in problems]}, indent=1)
    return problems


def digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def write_source(source: ProblemSource, before: Sequence[BenchProblem], out: Path) -> list[BenchProblem]:
    """The first `count` new problems of a source, as files; `before` are those of the sources before it."""
    domain_text, meaningful = domain_of(source)
    domain_name = Path(source.domain).name
    published = published_lengths(source)
    folder = out / "problems" / source.set / domain_name
    beside = [problem for problem in before if problem.set == source.set and problem.domain == domain_name]
    write_domain(folder / "domain.pddl", domain_text, bool(beside))
    known = {problem.fingerprint for problem in before if problem.set == source.set}
    files = {Path(problem.problem_file).name for problem in beside}
    problems: list[BenchProblem] = []
    for candidate, fingerprint in new_candidates(source, known, domain_text, meaningful):
        best_known = published.get(Path(candidate.name).name)
        file = folder / f"{file_name(candidate.name)}.pddl"
        if file.name in files:  # another problem has this name
            file = file.with_stem(f"{file.stem}-{fingerprint[:8]}")
        files.add(file.name)
        write_text(file, candidate.text)
        problems.append(
            BenchProblem(
                set=source.set,
                domain=domain_name,
                name=candidate.name,
                fingerprint=fingerprint,
                domain_file=str((folder / "domain.pddl").relative_to(out)),
                problem_file=str(file.relative_to(out)),
                teacher_length=candidate.teacher_length,
                optimum=candidate.optimum,
                objects=len(read_problem(domain_text, candidate.text).objects),
                best_known=best_known,
                end_length=best_known if source.end_at_best_known else None,
            )
        )
        if len(problems) == source.count:
            break
    if len(problems) < source.count:
        raise InputError(f"only {len(problems)} different problems for {source.domain}, {source.count} were asked for")
    return problems


def write_domain(file: Path, text: str, shared: bool) -> None:
    """The domain of a set's problems, which other sources may share."""
    if shared and file.read_text(encoding="utf-8") != text:
        raise InputError(f"{file.parent.name}: two sources of one set have different domain files; name another set")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, text)


def new_candidates(
    source: ProblemSource, known: set[str], domain_text: str, meaningful: frozenset[str]
) -> Iterator[tuple[Candidate, str]]:
    """Candidates that are not known, excluded, to be skipped or duplicates, each with its fingerprint."""

    def fingerprint(candidate: Candidate) -> str:
        return problem_fingerprint(read_problem(domain_text, candidate.text), meaningful)

    kept = (candidate for candidate in candidates(source) if candidate.name not in source.skip)
    return distinct(kept, fingerprint, known | excluded(source))


def domain_of(source: ProblemSource) -> tuple[str, frozenset[str]]:
    """The domain's text, and the types whose object names carry meaning."""
    place = source.data or source.folder
    if place:
        path = expanded(place) / "domain.pddl"
        if not path.is_file():
            raise InputError(f"{path}: missing, so there are no problems of {source.domain} to take")
    if source.domain not in catalog.names() and not Path(source.domain).is_dir():
        if not place:
            raise InputError(f"no domain {source.domain!r}; known: {', '.join(catalog.names())}")
        return path.read_text(encoding="utf-8"), frozenset()
    spec = catalog.load(source.domain)
    pools = spec.defaults.encoding.pool
    meaningful = frozenset(name for pool in pools if pool.meaningful for name in pool.types)
    return path.read_text(encoding="utf-8") if place else spec.domain_text, meaningful


def candidates(source: ProblemSource) -> Iterator[Candidate]:
    if source.data:
        return of_data_set(Path(source.data), source.split)
    if source.folder:
        return of_folder(expanded(source.folder), source.files)
    spec = catalog.load(source.domain)
    drawn = catalog.distinct(spec, source.seed, catalog.overrides(spec, source.ranges))
    return (Candidate(problem.name, problem.text) for problem in drawn)


def of_data_set(path: Path, split: str) -> Iterator[Candidate]:
    from oclgen.data import dataset
    from oclgen.data.optima import Optima

    optima = Optima(path).lengths
    for row in dataset.open_dataset(path).rows(split):
        length = row.length if row.length >= 0 else None
        yield Candidate(row.name, row.problem, length, optima.get(row.name))


def expanded(path: str) -> Path:
    """With the values of environment variables."""
    found = os.path.expandvars(path)
    if "$" in found:
        raise InputError(f"{path}: set this environment variable to the folder that holds these problems")
    return Path(found)


def published_lengths(source: ProblemSource) -> dict[str, int]:
    """By the last parts of the names of problems."""
    if not source.best_known:
        return {}
    lengths: dict[str, int] = read_json(Path(source.best_known)).get("lengths", {}).get(source.domain, {})
    return lengths


def of_folder(path: Path, patterns: Sequence[str]) -> Iterator[Candidate]:
    """Sizes often grow with names: a benchmark of few files, or one that is cut short, gets them from all over."""
    from oclgen.data.optima import Optima

    optima = Optima(path).lengths
    found = (sorted(path.glob(pattern)) for pattern in patterns)
    for file in spread(next(filter(None, found), [])):
        if file.name != "domain.pddl":
            name = str(file.relative_to(path))
            yield Candidate(name.removesuffix(".pddl"), file.read_text(encoding="utf-8"), None, optima.get(name))


def spread(items: Sequence[Path]) -> list[Path]:
    """In an order whose beginnings, of any length, are spread evenly over the sequence."""
    golden_ratio = (5**0.5 - 1) / 2
    order = sorted(range(len(items)), key=lambda position: position * golden_ratio % 1)
    return [items[position] for position in order]


def excluded(source: ProblemSource) -> set[str]:
    """Fingerprints of the problems in excluded data sets."""
    from oclgen.data import dataset

    return {
        row["fingerprint"]
        for name in source.exclude
        for row in dataset.columns(dataset.open_dataset(name).path, ["fingerprint"])
    }


def file_name(name: str) -> str:
    """A name with only letters that are safe in a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


def absolute(problem: BenchProblem, out: Path) -> BenchProblem:
    """The same problem with absolute paths, for child processes."""
    home = out.resolve()
    return replace(problem, domain_file=str(home / problem.domain_file), problem_file=str(home / problem.problem_file))
