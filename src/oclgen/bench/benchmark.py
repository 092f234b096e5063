"""Run a benchmark config and append one record per result; the same command again continues where it stopped."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oclgen.bench import machine
from oclgen.bench.config import BenchConfig, LoopSpec, TrainingSpec
from oclgen.bench.jobs import BenchJob, estimate_jobs, solve_jobs
from oclgen.bench.outcome import estimate_records, run_record
from oclgen.bench.problems import BenchProblem, collect, digest
from oclgen.bench.record import from_json
from oclgen.bench.record_file import RecordFile
from oclgen.bench.runner import FinishedChild, free_cores, release, run_jobs
from oclgen.bench.shards import Shard
from oclgen.errors import InputError
from oclgen.planner import prepare
from oclgen.support.files import replacing
from oclgen.support.provenance import revision
from oclgen.support.settings import parse_overrides

SERIES = {"train": "training", "validation": "validation"}
"""Groups of lines in `metrics.jsonl` whose losses are drawn, and their names in the figure."""


@dataclass(frozen=True, slots=True)
class BenchProgress:
    """How far a benchmark is; `left` is in seconds, None before the first run has ended."""

    done: int
    total: int
    broken: int
    left: float | None
    error: str | None = None


WHOLE = Shard()


def run_benchmark(
    config: BenchConfig, config_file: Path, out: Path, workers: int | None = None, shard: Shard = WHOLE
) -> Iterator[BenchProgress]:
    """Run what has no record yet; yield the progress before the first run and after each."""
    problems = shard.of(collect(config.problems, out))
    environment = {"machine": machine.describe(), "revision": revision()}
    with RecordFile(out) as records:
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
        yield from run_recorded(jobs, records, environment, time_left, workers)


def run_recorded(
    jobs: list[BenchJob],
    records: RecordFile,
    environment: Mapping[str, Any],
    time_left: "RemainingTime",
    workers: int | None,
) -> Iterator[BenchProgress]:
    """Run the jobs on free cores and record each as it ends."""
    if not jobs:
        return
    cores = free_cores(workers)
    try:
        for child in run_jobs(jobs, cores):
            error = store(child, records, environment)
            time_left.add(child)
            yield time_left.progress(records.broken, len(cores), error)
    finally:
        release(cores)


def keep_config(file: Path, kept: Path) -> None:
    """Keep a copy beside the records; the file may be that copy."""
    with replacing(kept) as temporary:
        temporary.write_bytes(file.read_bytes())


def store(child: FinishedChild, records: RecordFile, environment: Mapping[str, Any]) -> str | None:
    """Append a child's records; return what is broken about them."""
    line = child.job.line
    if line["kind"] == "estimate":
        lines, error = estimate_records(child, environment)
        for found in lines:
            records.append(found)
        return error and f"estimates of {line['label']} on {line['domain']}: {error}"
    record = run_record(child, environment)
    records.append(record)
    if record["outcome"] != "broken":
        return None
    return f"{record['label']} on {record['domain']}/{record['problem']}: {record['error']}"


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
        self._done = before
        self._total = before + len(jobs)
        self._to_run = sum(job.seconds for job in jobs if job.line["kind"] == "run")
        self._allowed = self._used = 0.0

    def add(self, child: FinishedChild) -> None:
        self._done += 1
        if child.job.line["kind"] == "run":
            self._to_run -= child.job.seconds
            self._allowed += child.job.seconds
            self._used += child.wall_seconds

    def progress(self, broken: int, workers: int = 1, error: str | None = None) -> BenchProgress:
        left = self._to_run * self._used / self._allowed / workers if self._allowed else None
        return BenchProgress(self._done, self._total, broken, left, error)


def record_optima(problems: list[BenchProblem], records: RecordFile) -> None:
    """Record the optima that came with the problems."""
    for problem in problems:
        line = {"kind": "optimum", "fingerprint": problem.fingerprint, "length": problem.optimum}
        if problem.optimum is not None and digest(line) not in records.ids:
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
