"""lab's `properties` file: one JSON dictionary, run id -> attributes, so that people can use their own lab reports."""

import json
from typing import Any

from oclgen.bench.record import RunRecord
from oclgen.report.evaluation import Evaluation
from oclgen.report.statistics import agile_score, satisficing_score

ERRORS = {"time": "search-out-of-time", "memory": "search-out-of-memory", "exhausted": "search-unsolvable"}


def properties(evaluation: Evaluation) -> str:
    """Sorted keys and an indent of 2, as lab writes it."""
    runs = {run.id: run for run in evaluation.runs}
    # run by run: the encoder takes ten times the memory of its result
    entries = (entry(key, attributes(evaluation, run)) for key, run in sorted(runs.items()))
    return "{" + ",".join(entries) + "\n}\n" if runs else "{}\n"


def entry(key: str, values: dict[str, Any]) -> str:
    """One line break and the entry, as it looks inside an indented dictionary."""
    return json.dumps({key: values}, indent=2, sort_keys=True)[1:-2]


def attributes(evaluation: Evaluation, run: RunRecord) -> dict[str, Any]:
    """Attributes under the names of lab's Fast Downward parsers; unknown ones are left out."""
    solved = run.outcome == "solved"
    problem = f"{run.set}-{run.problem}"
    algorithm = f"{run.label}-{run.time_limit:g}s"
    values: dict[str, Any] = {
        "algorithm": algorithm,
        "domain": run.domain,
        "problem": problem,
        "id": [algorithm, run.domain, problem, str(run.seed)],
        "coverage": int(solved),
        "cost": run.length if solved else None,
        "cost:all": [length for _, length in run.trace] or None,
        "plan_length": run.length if solved else None,
        "times:all": [seconds for seconds, _ in run.trace] or None,
        "planner_time": run.seconds,
        "search_time": run.search_seconds,
        "planner_time_limit": run.time_limit,
        "memory": run.peak_memory_kb,
        "planner_exit_code": run.exit_code,
        "error": error_name(run),
        "unexplained_errors": [run.error] if run.outcome == "broken" and run.error else None,
        "score_satisficing": satisficing_score(
            evaluation.best_known.get(run.fingerprint, 0), run.length if solved else None
        ),
        "score_agile": agile_score(run.first_seconds if solved else None, run.time_limit),
        **{COUNTERS.get(name, name): count for name, count in (run.counters or {}).items()},
    }
    return {name: value for name, value in values.items() if value is not None}


COUNTERS = {"expanded": "expansions", "evaluated": "evaluations"}


def error_name(run: RunRecord) -> str:
    """lab's word for how a run ended."""
    if run.outcome == "solved":
        return "success"
    if run.outcome == "broken":
        return "unexplained-error"
    return ERRORS.get(run.ending or "", "search-unsolvable-incomplete")
