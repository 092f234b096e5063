"""Run a benchmark config and append one record per result; the same command again continues where it stopped."""

import json
import math
import time
from collections import ChainMap
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oclgen.bench import machine
from oclgen.bench.config import BenchConfig, LoopSpec, TrainingSpec
from oclgen.bench.jobs import BenchJob, ended_by, estimate_jobs, solve_jobs
from oclgen.bench.node_run import run_on_nodes
from oclgen.bench.outcome import JobOutcome, job_outcome
from oclgen.bench.problems import BenchProblem, collect, digest
from oclgen.bench.record import from_json
from oclgen.bench.record_file import RecordFile
from oclgen.bench.runner import Core, free_cores, release, run_jobs
from oclgen.bench.shards import problems_of
from oclgen.errors import InputError
from oclgen.planner import prepare
from oclgen.support.files import replacing
from oclgen.support.parallel import Workers, progress_note
from oclgen.support.provenance import revision
from oclgen.support.settings import parse_overrides
from oclgen.support.shards import WHOLE, Shard

SERIES = {"train": "training", "validation": "validation"}
"""Groups of lines in `metrics.jsonl` whose losses are drawn, and their names in the figure."""


@dataclass(frozen=True, slots=True)
class BenchProgress:
    """How far a benchmark is; `left` is in seconds, None before the first run has ended, `rate` in runs a second."""

    done: int
    total: int
    broken: int
    left: float | None
    rate: float = 0.0
    error: str | None = None
    note: str = ""


def run_benchmark(
    config: BenchConfig,
    config_file: Path,
    out: Path,
    workers: Workers | None = None,
    shard: Shard = WHOLE,
    domains: Collection[str] = (),
) -> Iterator[BenchProgress]:
    """Run what has no record yet, in these domains (default: all); yield the progress before the first run and after
    each."""
    with RecordFile(out) as records:
        problems = problems_of(shard, in_domains(collect(config.problems, out), domains))
        keep_config(config_file, out / f"{config.name}.toml")
        record_optima(problems, records)
        if shard.number == 1:
            record_training(config, records)
        solving = solve_jobs(config, problems, out)
        jobs = [job for job in solving if job.id not in records.ids]
        check_runs(config, jobs)
        jobs = [*estimate_jobs(config, problems, out, records.ids), *jobs]
        time_left = RemainingTime(jobs, len(solving) - sum(job.line["kind"] == "run" for job in jobs))
        yield time_left.progress(records.broken)
        if jobs:
            ends = end_lengths(config, problems, records)
            yield from run_recorded(jobs, records, time_left, workers, lambda job: ended_by(job, ends))


def end_lengths(config: BenchConfig, problems: list[BenchProblem], records: RecordFile) -> Mapping[str, int]:
    """Lengths at which runs end, by problem: proved optima, also those that are yet to come, then published lengths."""
    published = {problem.fingerprint: problem.end_length for problem in problems if problem.end_length is not None}
    proofs_end_runs = config.optima is not None and config.optima.end_runs
    return ChainMap(records.optima, published) if proofs_end_runs else published


def in_domains(problems: list[BenchProblem], domains: Collection[str]) -> list[BenchProblem]:
    """Those of the domains asked for."""
    known = {problem.domain for problem in problems}
    for name in domains:
        if name not in known:
            raise InputError(f"no problems of a domain {name!r}; the config has {', '.join(sorted(known))}")
    return [problem for problem in problems if not domains or problem.domain in domains]


def run_recorded(
    jobs: list[BenchJob],
    records: RecordFile,
    time_left: "RemainingTime",
    workers: Workers | None,
    prepared: Callable[[BenchJob], BenchJob],
) -> Iterator[BenchProgress]:
    """Run the jobs and record each as it ends; `prepared` gives the last touch to a job when it starts."""
    if workers is None or isinstance(workers, int):
        cores = free_cores(workers)
        outcomes, count = run_here(jobs, cores, prepared), len(cores)
    else:
        outcomes, count = run_on_nodes(jobs, revision(), workers, prepared), workers.count
    with closing(outcomes):
        for outcome in outcomes:
            for line in outcome.lines:
                records.append(line)
            time_left.add(outcome)
            note = progress_note(workers or 1)
            yield replace(time_left.progress(records.broken, count), error=outcome.error, note=note)


def run_here(
    jobs: list[BenchJob], cores: list[Core], prepared: Callable[[BenchJob], BenchJob]
) -> Generator[JobOutcome]:
    environment = {"machine": machine.describe(), "revision": revision()}
    try:
        for child in run_jobs(jobs, cores, prepared):
            yield job_outcome(child, environment)
    finally:
        release(cores)


def keep_config(file: Path, kept: Path) -> None:
    """Keep a copy beside the records; the file may be that copy."""
    with replacing(kept) as temporary:
        temporary.write_bytes(file.read_bytes())


def check_runs(config: BenchConfig, jobs: list[BenchJob]) -> None:
    """Refuse wrong settings and models of other domains before the first run."""
    checked: set[tuple[str, str, str]] = set()
    for job in jobs:
        key = label, domain, problem_set = job.line["label"], job.line["domain"], job.line["set"]
        rows = [run for run in config.runs if run.label == label and problem_set in run.sets]
        run = next((run for run in rows if domain in (run.domains or (domain,))), None)
        if run is None or key in checked:
            continue
        checked.add(key)
        problem = job.problems[0]
        try:
            prepare(
                Path(problem.domain_file),
                Path(problem.problem_file),
                method=run.method,
                model=job.line["model"],
                profile=run.profile,
                settings=parse_overrides(run.settings),
            )
        except InputError as error:
            raise InputError(f"run {run.label!r} on {domain}: {error}") from error


class RemainingTime:
    """Estimates the time left from the share of their limits that the runs so far have used."""

    def __init__(self, jobs: list[BenchJob], before: int) -> None:
        self._done = self._before = before
        self._started = time.monotonic()
        self._total = before + len(jobs)
        self._to_run = sum(job.cores * job.seconds for job in jobs if job.line["kind"] == "run")
        self._allowed = self._used = 0.0

    def add(self, outcome: JobOutcome) -> None:
        self._done += 1
        if outcome.job.line["kind"] == "run":
            self._to_run -= outcome.job.cores * outcome.job.seconds
            self._allowed += outcome.job.seconds
            self._used += outcome.wall_seconds

    def progress(self, broken: int, workers: int = 1) -> BenchProgress:
        left = self._to_run * self._used / self._allowed / workers if self._allowed else None
        rate = (self._done - self._before) / max(time.monotonic() - self._started, 1e-9)
        return BenchProgress(self._done, self._total, broken, left, rate)


def record_optima(problems: list[BenchProblem], records: RecordFile) -> None:
    """Record the optima and the published lengths that came with the problems."""
    for problem in problems:
        for kind, length in (("optimum", problem.optimum), ("bound", problem.best_known)):
            line = {"kind": kind, "fingerprint": problem.fingerprint, "length": length}
            if length is not None and digest(line) not in records.ids:
                records.append({**line, "id": digest(line), "domain": problem.domain, "problem": problem.name})


def record_training(config: BenchConfig, records: RecordFile) -> None:
    """Record training curves and self-improvement loops, as far as they exist."""
    for spec in config.training:
        series = read_metrics(Path(spec.metrics.format(domain=spec.domain)))
        line = curve_line(spec, series)
        if series and line["id"] not in records.ids:
            records.append(line)
    for loop in config.loops:
        found = loop_line(loop)
        if found is not None and found["id"] not in records.ids:
            records.append(found)


def curve_line(spec: TrainingSpec, series: Mapping[str, Any]) -> dict[str, Any]:
    line = {"kind": "curve", "domain": spec.domain, "label": spec.label, "series": series}
    return {**line, "id": digest(line)}


def read_metrics(path: Path) -> dict[str, list[list[float]]]:
    """(step, value) pairs per series from a training run's `metrics.jsonl`; empty if there is none."""
    series: dict[str, list[list[float]]] = {}
    if not path.exists():
        return series
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # a line that is being written
        name, value = SERIES.get(line.get("group")), line.get("loss")
        if name and "step" in line and isinstance(value, int | float) and math.isfinite(value):
            series.setdefault(name, []).append([line["step"], value])
    return series


def loop_line(spec: LoopSpec) -> dict[str, Any] | None:
    """The figures of a loop's `loop.json`; None if there is none."""
    path = Path(spec.loop.format(domain=spec.domain))
    if not path.exists():
        return None
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        line = {**table, "kind": "loop", "domain": spec.domain, "label": spec.label}
        line["id"] = digest(line)
        from_json(line)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: not the loop.json of a loop ({error})") from error
    return line
