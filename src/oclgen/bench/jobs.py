"""The child processes that a config asks for, each with an id.

The id covers everything that can change the result: problem, label, method, profile, settings, the weights of the
model, seed and limits. A job whose id has a record is not run again.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from oclgen.bench.config import BenchConfig, EstimateSpec, RunSpec
from oclgen.bench.problems import BenchProblem, absolute, digest
from oclgen.classical.planners import OPTIMAL, PLANNERS
from oclgen.errors import InputError
from oclgen.model_folders import encoding_kind, find_model
from oclgen.pddl.reading.domain import read_domain
from oclgen.support.settings import parse_duration, parse_memory

RESULT_NAME = "result.json"
ESTIMATE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class BenchJob:
    """One bounded child process. `line` is the part of its record that is known before it runs."""

    id: str
    command: tuple[str, ...]
    seconds: float
    memory: int
    line: Mapping[str, Any]
    problems: tuple[BenchProblem, ...]
    cores: int = 1


def solve_jobs(config: BenchConfig, problems: Iterable[BenchProblem], out: Path) -> list[BenchJob]:
    """Problem by problem through all domains, so that a benchmark that is cut short is still balanced.

    Proofs come last, or, where they end runs, each some runs before those of its problem.
    """
    rounds = in_rounds(absolute(problem, out) for problem in problems)
    runs = [run_jobs_of(config, group) for group in rounds]
    proofs = [proof_jobs(config, group) for group in rounds]
    if config.optima is not None and config.optima.end_runs:
        pairs = zip([*proofs, []], [[], *runs], strict=True)  # the proofs of the next round, then the runs of this one
        return [job for proving, running in pairs for job in (*proving, *running)]
    return [job for group in (*runs, *proofs) for job in group]


def in_rounds(problems: Iterable[BenchProblem]) -> list[list[BenchProblem]]:
    """The first of each domain and set, then the second of each, ..."""
    counts: Counter[tuple[str, str]] = Counter()
    rounds: dict[int, list[BenchProblem]] = {}
    for problem in problems:
        counts[problem.set, problem.domain] += 1
        rounds.setdefault(counts[problem.set, problem.domain], []).append(problem)
    return [rounds[number] for number in sorted(rounds)]


def run_jobs_of(config: BenchConfig, problems: list[BenchProblem]) -> list[BenchJob]:
    """Everything that the config runs on each of the problems."""
    return [
        solve_job(config, problem, run, limit, seed)
        for problem in problems
        for run in config.runs
        if problem.set in run.sets and problem.domain in (run.domains or (problem.domain,))
        for limit in run.time_limits
        for seed in range(run.seeds)
    ]


def proof_jobs(config: BenchConfig, problems: list[BenchProblem]) -> list[BenchJob]:
    """A prover on every problem whose optimum is not known."""
    if config.optima is None:
        return []
    spec = config.optima
    lmcut, bfs = (RunSpec(method, method, time_limits=(spec.time_limit,)) for method in OPTIMAL)
    return [
        solve_job(
            config,
            problem,
            bfs if problem.domain in spec.breadth_first else lmcut,
            spec.time_limit,
            0,
            parse_memory(spec.memory_limit),
        )
        for problem in problems
        if problem.set in spec.sets
        and problem.domain in (spec.domains or (problem.domain,))
        and problem.optimum is None
    ]


def solve_job(
    config: BenchConfig, problem: BenchProblem, run: RunSpec, limit: str, seed: int, memory_limit: int | None = None
) -> BenchJob:
    memory_limit = memory_limit or config.memory_limit
    model = None if run.method in PLANNERS else model_folder(run.model, problem)
    identity = {
        "set": problem.set,
        "fingerprint": problem.fingerprint,
        "label": run.label,
        "method": run.method,
        "profile": run.profile,
        "settings": sorted(run.settings),
        "model_digest": model and model_digest(model),
        "seed": seed,
        "time_limit": parse_duration(limit),
        "memory_limit": memory_limit,
        "iterations": run.iterations or None,
        **({"threads": run.threads} if run.threads != 1 else {}),
    }
    line: dict[str, Any] = {
        **identity,
        "kind": "run",
        "id": digest(identity),
        "config": config.name,
        "domain": problem.domain,
        "problem": problem.name,
        "teacher_length": problem.teacher_length,
        "objects": problem.objects,
        "model": model and str(model),
    }
    command = solve_command(problem, run, seed, parse_duration(limit), memory_limit, model)
    return BenchJob(line["id"], command, parse_duration(limit), memory_limit, line, (problem,), run.threads)


def ended_by(job: BenchJob, lengths: Mapping[str, int]) -> BenchJob:
    """The job, which ends at a plan as short as this length of its problem, if there is one; provers do not."""
    length = None if job.line["kind"] != "run" else lengths.get(job.line["fingerprint"])
    if length is None or job.line["method"] in OPTIMAL:
        return job
    return replace(job, command=(*job.command, "--stop-at-length", str(length)))


def solve_command(
    problem: BenchProblem, run: RunSpec, seed: int, limit: float, memory_limit: int, model: Path | None
) -> tuple[str, ...]:
    """`oclgen solve` as a user would call it, writing into its working folder."""
    command = [sys.executable, "-m", "oclgen", "solve", problem.domain_file, problem.problem_file]
    command += ["--method", run.method, "--profile", run.profile, "--random-seed", str(seed)]
    command += ["--overall-time-limit", f"{limit}s", "--overall-memory-limit", f"{memory_limit >> 10}K"]
    command += ["--plan-file", "plan", "--json", RESULT_NAME, "--threads", str(run.threads)]
    for setting in run.settings:
        command += ["--set", setting]
    if run.iterations:
        command += ["--iterations", str(run.iterations)]
    if model is not None:
        command += ["--model", str(model)]
    return tuple(command)


def model_folder(template: str, problem: BenchProblem) -> Path:
    if not template:
        return shipped_model(problem.domain_file)
    folder = Path(template.format(domain=problem.domain)).resolve()
    if not folder.is_dir():
        raise InputError(f"{folder}: no such model folder")
    return folder


@cache
def shipped_model(domain_file: str) -> Path:
    return find_model(read_domain(Path(domain_file)))


@cache
def model_digest(folder: Path) -> str:
    """A digest of the weights and of `solve.toml`: a model that was trained further is another model."""
    hashed = hashlib.blake2b(digest_size=8)
    for file in (*sorted(folder.glob("*/weights.safetensors")), folder / "solve.toml"):
        if file.exists():
            hashed.update(file.read_bytes())
    return hashed.hexdigest()


@cache
def model_loops(folder: Path) -> int | None:
    """How many self-improvement loops a model's heuristic has gone through; None if its folder does not say."""
    try:
        home = folder / encoding_kind(folder).checkpoints[-1]
        return loops_of(json.loads((home / "recipe.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def loops_of(recipe: Mapping[str, Any]) -> int:
    """All loops behind a checkpoint: those of the newest `oclgen improve`, and of the checkpoints it goes back to.

    To learn from plans of one's own search, as `oclgen data --teacher oclgen` makes them, is a loop, too.
    """
    total, later = 0, 1
    step: Mapping[str, Any] | None = recipe
    while step is not None:
        number = int(step.get("improved", {}).get("iteration", step.get("teacher") == "oclgen"))
        if number >= later:  # else an earlier iteration of a loop that is counted already
            total += number
        later = number or later
        step = step.get("initial")
    return total


def estimate_jobs(config: BenchConfig, problems: Iterable[BenchProblem], out: Path, known: set[str]) -> list[BenchJob]:
    """One child per model, domain and set for all problems that have no estimate yet."""
    jobs = []
    for spec in config.estimates:
        wanted = [
            absolute(problem, out)
            for problem in problems
            if problem.set in spec.sets and problem.domain in (spec.domains or (problem.domain,))
        ]
        for _, group in groupby(wanted, key=lambda problem: (problem.set, problem.domain)):
            missing = [problem for problem in group if estimate_line(config, spec, problem)["id"] not in known]
            if missing:
                jobs.append(estimate_job(config, spec, missing))
    return jobs


def estimate_job(config: BenchConfig, spec: EstimateSpec, problems: list[BenchProblem]) -> BenchJob:
    lines = [estimate_line(config, spec, problem) for problem in problems]
    model = model_folder(spec.model, problems[0])
    command = (sys.executable, "-m", "oclgen.bench.estimates", str(model), spec.profile, RESULT_NAME)
    files = tuple(name for problem in problems for name in (problem.domain_file, problem.problem_file))
    return BenchJob(
        digest([line["id"] for line in lines]),
        (*command, *files),
        ESTIMATE_SECONDS,
        config.memory_limit,
        {"kind": "estimate", "lines": lines, "label": spec.label, "domain": problems[0].domain},
        tuple(problems),
    )


def estimate_line(config: BenchConfig, spec: EstimateSpec, problem: BenchProblem) -> dict[str, Any]:
    model = model_folder(spec.model, problem)
    identity = {
        "kind": "estimate",
        "set": problem.set,
        "fingerprint": problem.fingerprint,
        "label": spec.label,
        "model_digest": model_digest(model),
    }
    if spec.profile != "extended":
        identity["profile"] = spec.profile
    return {
        **identity,
        "id": digest(identity),
        "profile": spec.profile,
        "loops": model_loops(model),
        "config": config.name,
        "domain": problem.domain,
        "problem": problem.name,
        "teacher_length": problem.teacher_length,
    }
