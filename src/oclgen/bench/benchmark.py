"""Run what a config declares and append one line per result; the same command again goes on where it stopped."""

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
from oclgen.cli.solve import parse_overrides
from oclgen.errors import InputError
from oclgen.planner import prepare

SERIES = {"train": "training", "validation": "validation"}
"""Groups of lines in `metrics.jsonl` whose losses are drawn, and what they are called."""


@dataclass(frozen=True, slots=True)
class BenchProgress:
    """How far a benchmark is; `left` is in seconds, None as long as there is nothing to judge by."""

    done: int
    total: int
    broken: int
    left: float | None
    error: str | None = None


def run_benchmark(
    config: BenchConfig, config_file: Path, out: Path, workers: int | None = None
) -> Iterator[BenchProgress]:
    """Yield the progress before the first and after each run."""
    problems = collect(config.problems, out)
    environment = {"machine": machine.describe(), "revision": machine.revision()}
    with RecordFile(out) as journal:
        keep_config(config_file, out / f"{config.name}.toml")
        record_facts(config, problems, journal)
        solving = solve_jobs(config, problems, out)
        jobs = [job for job in solving if job.id not in journal.ids]
        check_runs(config, jobs)
        jobs = [*estimate_jobs(config, problems, out, journal.ids), *jobs]
        clock = RemainingTime(jobs, len(solving) - sum(job.line["kind"] == "run" for job in jobs))
        yield BenchProgress(clock.before, clock.total, journal.broken, None)
        if not jobs:
            return
        cores = free_cores(workers)
        try:
            for ended in run_jobs(jobs, cores):
                error = store(ended, journal, environment)
                clock.add(ended)
                yield BenchProgress(
                    clock.before + clock.done, clock.total, journal.broken, clock.left(len(cores)), error
                )
        finally:
            release(cores)


def keep_config(file: Path, kept: Path) -> None:
    """A copy beside the records, put there by rename; the file may be that copy."""
    temporary = kept.with_name(f".{kept.name}.tmp")
    temporary.write_bytes(file.read_bytes())
    temporary.replace(kept)


def store(ended: FinishedChild, journal: RecordFile, environment: Mapping[str, Any]) -> str | None:
    """Append what a child brought; return what is broken about it."""
    line = ended.job.line
    if line["kind"] == "estimate":
        lines, error = estimate_records(ended, environment)
        for found in lines:
            journal.append(found)
        return error and f"estimates of {line['label']} on {line['domain']}: {error}"
    record = run_record(ended, environment)
    journal.append(record)
    if record["outcome"] != "broken":
        return None
    return f"{record['label']} on {record['domain']}/{record['problem']}: {record['error']}"


def check_runs(config: BenchConfig, jobs: list[BenchJob]) -> None:
    """Refuse wrong settings and models of other domains now, not one by one through the night."""
    checked: set[tuple[str, str, str]] = set()
    for job in jobs:
        key = label, domain, place = job.line["label"], job.line["domain"], job.line["set"]
        rows = [run for run in config.runs if run.label == label and place in run.sets]
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
    """Judges the time left by how much of their limits the jobs so far have used."""

    def __init__(self, jobs: list[BenchJob], before: int) -> None:
        self.before = before
        self.total = before + len(jobs)
        self.done = 0
        self._open = sum(job.seconds for job in jobs if job.line["kind"] == "run")
        self._allowed = self._used = 0.0

    def add(self, ended: FinishedChild) -> None:
        self.done += 1
        if ended.job.line["kind"] == "run":
            self._open -= ended.job.seconds
            self._allowed += ended.job.seconds
            self._used += ended.wall_seconds

    def left(self, workers: int) -> float | None:
        return self._open * self._used / self._allowed / workers if self._allowed else None


def record_facts(config: BenchConfig, problems: list[BenchProblem], journal: RecordFile) -> None:
    """Optima that are known beforehand, training curves, and loops of self-improvement."""
    for problem in problems:
        line = {"kind": "optimum", "fingerprint": problem.fingerprint, "length": problem.optimum}
        if problem.optimum is not None and digest(line) not in journal.ids:
            journal.append({**line, "id": digest(line), "domain": problem.domain, "problem": problem.name})
    for spec in config.training:
        series = read_metrics(Path(spec.metrics.format(domain=spec.domain)))
        line = curve_line(spec, series)
        if series and line["id"] not in journal.ids:
            journal.append(line)
    for loop in config.loops:
        found = loop_line(loop)
        if found is not None and found["id"] not in journal.ids:
            journal.append(found)


def curve_line(spec: TrainingSpec, series: Mapping[str, Any]) -> dict[str, Any]:
    line = {"kind": "curve", "domain": spec.domain, "label": spec.label, "series": series}
    return {**line, "id": digest(line)}


def read_metrics(path: Path) -> dict[str, list[list[float]]]:
    """(step, value) pairs per series from a training run's `metrics.jsonl`; empty where there is none."""
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
    """The figures of a loop's `loop.json`; None where there is none."""
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
