"""One search of an iteration, as a worker does it, and what is kept of it.

Paper: Section 5.4 (a fixed runtime budget on each problem instance).
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oclgen.data.dataset import Row
from oclgen.errors import UnsupportedError
from oclgen.improve.explored import Explored
from oclgen.improve.settings import Lessons, Searching
from oclgen.interfaces import Plan, Task
from oclgen.pddl.initial_state import problem_from
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.task import PddlTask
from oclgen.planner import Prepared, prepare
from oclgen.search.anytime import Budget, Counters, SearchResult, run
from oclgen.search.graph import SearchGraph

FAILED = -1
"""Length where no plan was found."""


@dataclass(frozen=True, slots=True)
class Job:
    """A problem, its model, and all that decides what comes out."""

    row: Row
    domain_text: str
    model: Path
    searching: Searching
    lessons: Lessons
    seed: int


@dataclass(frozen=True, slots=True)
class Searched:
    """A line of searches.jsonl; `known` is the length of the plan that the problem came with."""

    problem: int
    name: str
    split: str
    known: int
    length: int
    plan: str
    ending: str
    seconds: float
    seed: int
    trace: tuple[tuple[float, int], ...] = ()
    counters: dict[str, int] | None = None
    plans: tuple[str, ...] = ()  # others of the same length
    states: tuple[tuple[str, str], ...] = ()  # problems that start elsewhere, with their plans

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> "Searched":
        lists = {name: tuple(map(tuple, line[name])) for name in ("trace", "states")}
        return cls(**{**line, **lists, "plans": tuple(line["plans"])})

    @property
    def solved(self) -> bool:
        return self.length != FAILED


def search(job: Job) -> Searched:
    """A problem beyond the model's vocabulary is an unsolved one."""
    row, searching = job.row, job.searching
    budget, counters = Budget(searching.seconds, searching.iterations or None, searching.memory_mb << 20), Counters()
    failed = Searched(row.id, row.name, row.split, row.length, FAILED, "", "unsupported", 0.0, job.seed)
    try:
        prepared = prepare(
            job.domain_text,
            row.problem,
            method=searching.method,
            model=job.model,
            profile=searching.profile,
            settings=searching.settings,
        )
        result, extras = run_watched(prepared, budget, counters, job)
    except UnsupportedError:
        return failed
    return Searched(
        problem=row.id,
        name=row.name,
        split=row.split,
        known=row.length,
        length=FAILED if result.plan is None else len(result.plan),
        plan="" if result.plan is None else format_plan(result.plan),
        ending=result.ending.value,
        seconds=round(result.seconds, 3),
        seed=job.seed,
        trace=tuple((round(second, 3), length) for second, length in result.trace),
        counters=counters.as_dict(),
        **extras,
    )


def run_watched(
    prepared: Prepared, budget: Budget, counters: Counters, job: Job
) -> tuple[SearchResult, dict[str, Any]]:
    """Search, then look what else is worth learning in the graph, where that is wanted."""
    if not job.lessons.from_graph:
        return run(prepared.plans(budget, counters, job.seed), budget, counters), {}
    seen: list[tuple[Task, SearchGraph]] = []
    plans = prepared.plans(budget, counters, job.seed, lambda task, graph: seen.append((task, graph)))
    result = run(plans, budget, counters)
    if not result.plan:
        return result, {}
    [(task, graph)] = seen
    assert isinstance(task, PddlTask)
    return result, more_lessons(task, graph, result.plan, job)


def more_lessons(task: PddlTask, graph: SearchGraph, plan: Plan, job: Job) -> dict[str, Any]:
    explored, lessons, rng = Explored(graph), job.lessons, random.Random(job.seed)
    nodes = explored.other_nodes(lessons.states, lessons.slack, rng)
    problem, domain = job.row.problem, task.info.domain
    return {
        "plans": tuple(map(format_plan, explored.other_plans(plan, lessons.plans - 1, rng))),
        "states": tuple(
            (problem_from(problem, domain, task.atoms(graph.state(node))), format_plan(explored.plan(node, rng)))
            for node in nodes
        ),
    }
