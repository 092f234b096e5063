"""The config of a benchmark, in TOML: problems x methods x seeds, optima, estimates, training curves, self-improvement
loops.

    title = "..."
    memory_limit = "4G"

    [[problems]]                  # drawn from a domain's generator ...
    domain = "blocksworld"
    count = 50
    seed = 7
    ranges = ["blocks=3..12"]

    [[problems]]                  # ... or a split of a data set, or a folder with domain.pddl and *.pddl
    domain = "sokoban"
    data = "data/sokoban"
    split = "failed"
    set = "failed"

    [[runs]]
    label = "oclgen-uniform"      # the name of the row; the paper's names are in paper.toml
    method = "oclgen"
    settings = ["depth_selection=uniform"]
    time_limits = ["10s", "30s"]

Unknown keys are errors. `{domain}` in a model's path stands for the domain's name; paths start where the command runs
and may hold environment variables ($NAME).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from oclgen.errors import InputError
from oclgen.planner import METHODS
from oclgen.search.settings import PROFILES
from oclgen.support.settings import build, check_keys, parse_duration, parse_memory, read_table

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """Problems of one domain that form (part of) a set."""

    domain: str
    set: str = "main"
    count: int = 0
    """How many; 0 takes all problems of a folder or a split."""
    seed: int = 7
    """Of the generator; training never uses this one."""
    ranges: tuple[str, ...] = ()
    """Overridden generator ranges, as in `oclgen generate --set`."""
    data: str = ""
    split: str = "test"
    folder: str = ""
    files: tuple[str, ...] = ("**/*.pddl",)
    """Which files of the folder are problems: those that match the first of these patterns that matches any."""
    best_known: str = ""
    """A JSON file with the lengths of the best plans that others published: `lengths` by domain, and by the last part
    of the problem's name."""
    end_at_best_known: bool = False
    """End every run at a plan as short as the published one: it has the full score then."""
    exclude: tuple[str, ...] = ()
    """Data sets whose problems must not be among these, even with other object names."""
    skip: tuple[str, ...] = ()
    """Names of generated problems to skip: those known to be in a training set that is not at hand."""

    def __post_init__(self) -> None:
        if self.data and self.folder:
            raise InputError(f"problems of {self.domain}: give data or folder, not both")
        if not (self.data or self.folder) and self.count < 1:
            raise InputError(f"problems of {self.domain}: count must say how many to draw")
        if self.end_at_best_known and not self.best_known:
            raise InputError(f"problems of {self.domain}: end_at_best_known needs best_known")


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One row of the tables: a method with its settings, under each of its limits."""

    label: str
    method: str
    profile: str = "extended"
    settings: tuple[str, ...] = ()
    model: str = ""
    """A model folder; empty means the shipped model of the domain."""
    time_limits: tuple[str, ...] = ("10s",)
    iterations: int = 0
    """Stop after this many search iterations; 0 means no such limit."""
    threads: int = 1
    """Cores of each run, as in `oclgen solve --threads`."""
    seeds: int = 1
    """Random seeds 0, 1, ..."""
    sets: tuple[str, ...] = ("main",)
    domains: tuple[str, ...] = ()
    """Only these; empty means all."""

    def __post_init__(self) -> None:
        check_choice(f"run {self.label!r}", "method", self.method, METHODS)
        check_choice(f"run {self.label!r}", "profile", self.profile, PROFILES)
        if self.threads < 1:
            raise InputError(f"run {self.label!r}: threads must be at least 1, not {self.threads}")
        for limit in self.time_limits:
            parse_duration(limit)


@dataclass(frozen=True, slots=True)
class OptimaSpec:
    """Prove optima that are not known yet, with LM-cut or breadth-first search."""

    time_limit: str
    memory_limit: str = "8G"
    sets: tuple[str, ...] = ("main",)
    domains: tuple[str, ...] = ()
    breadth_first: tuple[str, ...] = ()
    """The domains in which breadth-first search proves more than LM-cut."""
    end_runs: bool = False
    """Prove first, and end every run at a plan as short as the proved optimum: more time would change nothing."""


@dataclass(frozen=True, slots=True)
class EstimateSpec:
    """Ask a heuristic model for the cost of initial states."""

    label: str = "heuristic"
    model: str = ""
    profile: str = "extended"
    """Under `paper` the percentile is the paper's for the domain, not the one in the model's `solve.toml`."""
    sets: tuple[str, ...] = ("main",)
    domains: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice(f"estimates {self.label!r}", "profile", self.profile, PROFILES)


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """A training run whose metrics (`metrics.jsonl`) become a curve."""

    label: str
    domain: str
    metrics: str


@dataclass(frozen=True, slots=True)
class LoopSpec:
    """A self-improvement loop whose own tests (`loop.json`) become a table and a figure."""

    label: str
    domain: str
    loop: str


@dataclass(frozen=True, slots=True)
class BenchConfig:
    """One benchmark."""

    name: str
    title: str
    memory_limit: int
    problems: tuple[ProblemSource, ...]
    runs: tuple[RunSpec, ...]
    optima: OptimaSpec | None
    estimates: tuple[EstimateSpec, ...]
    training: tuple[TrainingSpec, ...]
    loops: tuple[LoopSpec, ...]


def narrowed(config: BenchConfig, time_limit: str | None) -> BenchConfig:
    """All runs under this limit instead of their own."""
    if time_limit is None:
        return config
    return replace(config, runs=tuple(replace(run, time_limits=(time_limit,)) for run in config.runs))


def read_config(path: Path) -> BenchConfig:
    """Raises `InputError` naming the file, the table and the key."""
    table = read_table(path)
    known = [field.name for field in fields(BenchConfig) if field.name != "name"]
    check_keys(table, known, str(path), required=("problems",))
    config = BenchConfig(
        name=path.stem,
        title=str(table.get("title", path.stem)),
        memory_limit=parse_memory(str(table.get("memory_limit", "4G"))),
        problems=parts(ProblemSource, table, "problems", path),
        runs=parts(RunSpec, table, "runs", path),
        optima=build(OptimaSpec, table["optima"], f"{path}: [optima]") if "optima" in table else None,
        estimates=parts(EstimateSpec, table, "estimates", path),
        training=parts(TrainingSpec, table, "training", path),
        loops=parts(LoopSpec, table, "loops", path),
    )
    check_labels(config, path)
    check_loops(config, path)
    return config


def parts(kind: type[Part], table: Mapping[str, Any], key: str, path: Path) -> tuple[Part, ...]:
    found = table.get(key, [])
    if not isinstance(found, list):
        raise InputError(f"{path}: {key} must be a list of tables, [[{key}]]")
    return tuple(build(kind, part, f"{path}: [[{key}]] {number}") for number, part in enumerate(found, start=1))


def check_labels(config: BenchConfig, path: Path) -> None:
    """One label on the same problems twice would mix two methods in one row. Sets must exist."""
    sets = {source.set for source in config.problems}
    used: set[tuple[str, str, str]] = set()
    for run in config.runs:
        for name in run.sets:
            if name not in sets:
                raise InputError(f"{path}: run {run.label!r} asks for the problem set {name!r}, which is not declared")
            for domain in run.domains or tuple(sorted({source.domain for source in config.problems})):
                if (run.label, name, domain) in used:
                    raise InputError(f"{path}: two runs are labelled {run.label!r} on the set {name!r}")
                used.add((run.label, name, domain))


def check_loops(config: BenchConfig, path: Path) -> None:
    """Only the last of two loops with one label would be shown."""
    used: set[tuple[str, str]] = set()
    for spec in config.loops:
        if (spec.label, spec.domain) in used:
            raise InputError(f"{path}: two loops are labelled {spec.label!r} for {spec.domain}")
        used.add((spec.label, spec.domain))


def check_choice(where: str, key: str, value: str, choices: tuple[str, ...] | Mapping[str, Any]) -> None:
    if value not in choices:
        raise InputError(f"{where}: {key} must be one of {', '.join(choices)}, not {value!r}")
