"""From an ended child to its record: solved, unsolved, or broken with the reason.

Nothing a child says is taken on trust: the plan is replayed by the validator once more, and its length, the trace and
the exit code must agree with each other.
"""

import json
import signal
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from oclgen.bench.jobs import RESULT_NAME
from oclgen.bench.problems import BenchProblem
from oclgen.bench.runner import FinishedChild, grace
from oclgen.errors import ExitCode
from oclgen.pddl.validate import validate

FOUND = (ExitCode.SUCCESS, ExitCode.PLAN_THEN_OUT_OF_MEMORY, ExitCode.PLAN_THEN_OUT_OF_TIME,
         ExitCode.PLAN_THEN_OUT_OF_MEMORY_AND_TIME)  # fmt: skip
NOT_FOUND = (ExitCode.UNSOLVABLE, ExitCode.UNSOLVED_INCOMPLETE, ExitCode.OUT_OF_MEMORY_BEFORE_SEARCH,
             ExitCode.OUT_OF_TIME_BEFORE_SEARCH, ExitCode.OUT_OF_MEMORY, ExitCode.OUT_OF_TIME,
             ExitCode.OUT_OF_MEMORY_AND_TIME)  # fmt: skip


def run_record(ended: FinishedChild, environment: Mapping[str, Any]) -> dict[str, Any]:
    """The whole line of one run of a planner."""
    said = read_result(ended.folder / RESULT_NAME)
    known = dict(ended.job.line)
    own = {key: value for key, value in said.items() if key not in known or key in ("settings", "model")}
    line = {
        "outcome": "unsolved",
        **known,
        **own,
        **environment,
        "asked_settings": known.get("settings"),
        "exit_code": ended.exit_code,
        "wall_seconds": round(ended.wall_seconds, 3),
        "cpu_seconds": round(ended.cpu_seconds, 3),
        "peak_memory_kb": max(ended.peak_memory_kb, said.get("peak_memory_kb") or 0),
        "error": None,
    }
    error = defect(ended, said)
    if error is not None:
        return line | {"outcome": "broken", "error": error}
    if ended.exit_code == ExitCode.UNSUPPORTED:  # the model cannot encode it: a result, not an accident
        return line | {"outcome": "unsolved", "ending": "unsupported", "error": ended.last_error_line()}
    return line


def read_result(path: Path) -> dict[str, Any]:
    """What the child wrote; empty where it wrote nothing that can be read."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return result if isinstance(result, dict) else {}


def defect(ended: FinishedChild, said: Mapping[str, Any]) -> str | None:
    """Why a run counts as broken, or None."""
    if ended.killed:
        return f"had not ended {grace(ended.job.seconds):.0f} s after its limit and was killed"
    if ended.exit_code == ExitCode.UNSUPPORTED and not said:
        return None
    if ended.exit_code not in (*FOUND, *NOT_FOUND):
        return f"{exit_text(ended.exit_code)}: {ended.last_error_line() or 'nothing on standard error'}"
    if not said:
        return f"{exit_text(ended.exit_code)} but no record was written: {ended.last_error_line()}"
    if (said.get("outcome") == "solved") != (ended.exit_code in FOUND):
        return f"{exit_text(ended.exit_code)} contradicts the outcome {said.get('outcome')!r}"
    return plan_defect(ended.job.problems[0], said)


def exit_text(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def plan_defect(problem: BenchProblem, said: Mapping[str, Any]) -> str | None:
    plan = said.get("plan")
    if plan is None:
        return None if said.get("outcome") == "unsolved" else "solved without a plan"
    actions = [tuple(action.split()) for action in plan]
    verdict = validate(Path(problem.domain_file), Path(problem.problem_file), actions)
    if not verdict.valid:
        return f"invalid plan: {verdict.reason}"
    if said.get("length") != len(actions):
        return f"says length {said.get('length')}, but the plan has {len(actions)} actions"
    return trace_defect(said.get("trace") or [], len(actions))


def trace_defect(trace: Sequence[Sequence[float]], length: int) -> str | None:
    """A trace goes forward in time, each length shorter than the one before, down to that of the plan."""
    if any(later[0] < earlier[0] or later[1] >= earlier[1] for earlier, later in pairwise(trace)):
        return f"the trace does not improve step by step: {list(map(list, trace))}"
    if not trace or trace[-1][1] != length:
        return f"the trace does not end with the plan's length {length}"
    return None


def estimate_records(ended: FinishedChild, environment: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
    """The lines of a heuristic's estimates, or what went wrong."""
    said = read_result(ended.folder / RESULT_NAME).get("estimates")
    lines = ended.job.line["lines"]
    if ended.exit_code != 0 or not isinstance(said, list) or len(said) != len(lines):
        return [], f"{exit_text(ended.exit_code)}: {ended.last_error_line() or 'no estimates written'}"
    pairs = zip(lines, said, strict=True)
    return [{**line, **found, **environment} for line, found in pairs if found is not None], None
