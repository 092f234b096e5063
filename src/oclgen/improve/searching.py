"""One search of an iteration, as a worker does it, and what is kept of it.

Paper: Section 5.4 (a fixed runtime budget on each problem instance).
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oclgen.data.attempts import Attempt, run_attempt
from oclgen.data.dataset import Row
from oclgen.data.dead_ends import ask, is_dead_end
from oclgen.improve.explored import Explored
from oclgen.improve.settings import ExtraExamples, Searching
from oclgen.interfaces import Plan, Task
from oclgen.pddl.initial_state import problem_from
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.task import PddlTask
from oclgen.search.graph import SearchGraph

FAILED = -1
"""Length where no plan was found."""
ASK_SECONDS = 1.0
"""For the proof that a state is a dead end."""
MOST_UNANSWERED = 2
"""After so many states that were too hard for the planner the others of a problem are left."""


@dataclass(frozen=True, slots=True)
class SearchJob:
    """A problem, its model, and all that decides what comes out."""

    row: Row
    domain_text: str
    model: Path
    searching: Searching
    extra: ExtraExamples
    seed: int
    translate_options: tuple[str, ...] = ()


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
    dead_ends: tuple[str, ...] = ()  # problems that start elsewhere and have no plan

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> "Searched":
        pairs = {name: tuple(map(tuple, line[name])) for name in ("trace", "states")}
        return cls(**{**line, **pairs, **{name: tuple(line.get(name, ())) for name in ("plans", "dead_ends")}})

    @property
    def solved(self) -> bool:
        return self.length != FAILED


def search(job: SearchJob) -> Searched:
    """Search a problem; one that the model's vocabulary cannot express counts as unsolved."""
    row, searching = job.row, job.searching
    seen: list[tuple[Task, SearchGraph]] = []
    attempt = Attempt(
        job.domain_text,
        row.problem,
        searching.method,
        job.model,
        searching.profile,
        searching.in_force,
        searching.seconds,
        searching.iterations or None,
        searching.memory_mb << 20,
        job.seed,
    )
    result = run_attempt(attempt, (lambda *graph: seen.append(graph)) if job.extra.from_graph else None)
    if result is None:
        return Searched(row.id, row.name, row.split, row.length, FAILED, "", "unsupported", 0.0, job.seed)
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
        counters=result.counters.as_dict(),
        **(examples_from_graph(*seen[0], result.plan, job) if seen else {}),
    )


def examples_from_graph(task: Task, graph: SearchGraph, plan: Plan | None, job: SearchJob) -> dict[str, Any]:
    """What else is worth learning in the graph of a search."""
    assert isinstance(task, PddlTask)
    explored, extra, rng = Explored(graph), job.extra, random.Random(job.seed)

    def problem(node: int) -> str:
        return problem_from(job.row.problem, task.info.domain, task.atoms(graph.state(node)))

    others = explored.other_plans(plan, extra.plans - 1, rng) if plan else []
    nodes = explored.other_nodes(extra.states, extra.slack, rng) if plan else []
    return {
        "plans": tuple(map(format_plan, others)),
        "states": tuple((problem(node), format_plan(explored.plan(node, rng))) for node in nodes),
        "dead_ends": tuple(dead_ends(job, map(problem, explored.stuck_nodes(extra.dead_ends, rng)))),
    }


def dead_ends(job: SearchJob, problems: Iterable[str]) -> Iterator[str]:
    """The problems that have no plan, as far as that is proved soon."""
    unanswered = 0
    for problem in problems:
        result = ask(job.domain_text, problem, ASK_SECONDS, job.translate_options)
        if is_dead_end(result):
            yield problem
        elif result is None or result.plan is None:
            unanswered += 1
        if unanswered == MOST_UNANSWERED:
            return
