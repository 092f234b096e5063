"""The record of a finished child: solved, unsolved, or broken with the reason.

The child's own result is checked: the validator replays the plan once more, and its length, the trace and the exit
code must agree.
"""

import json
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from oclgen.bench import machine
from oclgen.bench.jobs import RESULT_NAME, BenchJob
from oclgen.bench.problems import BenchProblem
from oclgen.bench.runner import FinishedChild, grace
from oclgen.errors import ExitCode
from oclgen.model_folders import PRETRAINED
from oclgen.pddl.checking.validate import validate

FOUND = (ExitCode.SUCCESS, ExitCode.PLAN_THEN_OUT_OF_MEMORY, ExitCode.PLAN_THEN_OUT_OF_TIME,
         ExitCode.PLAN_THEN_OUT_OF_MEMORY_AND_TIME)  # fmt: skip
NOT_FOUND = (ExitCode.UNSOLVABLE, ExitCode.UNSOLVED_INCOMPLETE, ExitCode.OUT_OF_MEMORY_BEFORE_SEARCH,
             ExitCode.OUT_OF_TIME_BEFORE_SEARCH, ExitCode.OUT_OF_MEMORY, ExitCode.OUT_OF_TIME,
             ExitCode.OUT_OF_MEMORY_AND_TIME)  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What a job left: its records, how long it ran, and what is broken about it."""

    job: BenchJob
    lines: list[dict[str, Any]]
    wall_seconds: float
    error: str | None


def job_outcome(child: FinishedChild, environment: Mapping[str, Any]) -> JobOutcome:
    line = child.job.line
    if line["kind"] == "estimate":
        lines, error = estimate_records(child, environment)
        broken = error and f"estimates of {line['label']} on {line['domain']}: {error}"
        return JobOutcome(child.job, lines, child.wall_seconds, broken)
    record = run_record(child, environment)
    broken = None
    if record["outcome"] == "broken":
        broken = f"{record['label']} on {record['domain']}/{record['problem']}: {record['error']}"
    return JobOutcome(child.job, [record], child.wall_seconds, broken)


def run_record(child: FinishedChild, environment: Mapping[str, Any]) -> dict[str, Any]:
    """The record line of one run of a planner."""
    result = read_result(child.folder / RESULT_NAME)
    known = dict(child.job.line)
    own = {key: value for key, value in result.items() if key not in known or key in ("settings", "model", "threads")}
    line = {
        "outcome": "unsolved",
        **known,
        **own,
        **environment,
        "model": shown_model(own.get("model") or known.get("model")),
        "asked_settings": known.get("settings"),
        "exit_code": child.exit_code,
        "wall_seconds": round(child.wall_seconds, 3),
        "cpu_seconds": round(child.cpu_seconds, 3),
        "cores": child.job.cores,
        "load": machine.load(),
        "lost_seconds": round(child.lost_seconds, 3),
        "disturbed": child.disturbed,
        "peak_memory_kb": max(child.peak_memory_kb, result.get("peak_memory_kb") or 0),
        "error": None,
    }
    error = defect(child, result)
    if error is not None:
        return line | {"outcome": "broken", "error": error}
    if child.exit_code == ExitCode.UNSUPPORTED:  # the model cannot encode the problem: a result, not a defect
        return line | {"outcome": "unsolved", "ending": "unsupported", "error": child.last_error_line()}
    return line


def shown_model(folder: str | None) -> str | None:
    """The folder without what is particular to this machine."""
    if folder is None:
        return None
    path = Path(folder)
    for base in (PRETRAINED.parent, Path.cwd()):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.name


def read_result(path: Path) -> dict[str, Any]:
    """What the child wrote; empty if there is nothing that can be read."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return result if isinstance(result, dict) else {}


def defect(child: FinishedChild, result: Mapping[str, Any]) -> str | None:
    """Why a run counts as broken, or None."""
    if child.killed:
        return f"had not ended {grace(child.job.seconds):.0f} s after its limit and was killed"
    if child.exit_code == ExitCode.UNSUPPORTED and not result:
        return None
    if child.exit_code not in (*FOUND, *NOT_FOUND):
        return f"{exit_text(child.exit_code)}: {child.last_error_line() or 'nothing on standard error'}"
    if not result:
        return f"{exit_text(child.exit_code)} but no record was written: {child.last_error_line()}"
    if (result.get("outcome") == "solved") != (child.exit_code in FOUND):
        return f"{exit_text(child.exit_code)} contradicts the outcome {result.get('outcome')!r}"
    return plan_defect(child.job.problems[0], result)


def exit_text(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def plan_defect(problem: BenchProblem, result: Mapping[str, Any]) -> str | None:
    plan = result.get("plan")
    if plan is None:
        return None if result.get("outcome") == "unsolved" else "solved without a plan"
    actions = [tuple(action.split()) for action in plan]
    verdict = validate(Path(problem.domain_file), Path(problem.problem_file), actions)
    if not verdict.valid:
        return f"invalid plan: {verdict.reason}"
    if result.get("length") != len(actions):
        return f"says length {result.get('length')}, but the plan has {len(actions)} actions"
    return trace_defect(result.get("trace") or [], len(actions))


def trace_defect(trace: Sequence[Sequence[float]], length: int) -> str | None:
    """A trace goes forward in time, each length is shorter than the last, and it ends with the plan's length."""
    if any(later[0] < earlier[0] or later[1] >= earlier[1] for earlier, later in pairwise(trace)):
        return f"the trace does not improve step by step: {list(map(list, trace))}"
    if not trace or trace[-1][1] != length:
        return f"the trace does not end with the plan's length {length}"
    return None


def estimate_records(child: FinishedChild, environment: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
    """The record lines of a heuristic's estimates, or the error."""
    result = read_result(child.folder / RESULT_NAME).get("estimates")
    lines = child.job.line["lines"]
    if child.exit_code != 0 or not isinstance(result, list) or len(result) != len(lines):
        return [], f"{exit_text(child.exit_code)}: {child.last_error_line() or 'no estimates written'}"
    pairs = zip(lines, result, strict=True)
    return [{**line, **found, **environment} for line, found in pairs if found is not None], None
