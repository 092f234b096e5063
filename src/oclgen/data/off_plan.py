"""States beside the plans of a data set, with shortest plans from them: where a search goes astray, and how back.

Optimal plans show a model only states near the goal's best approaches; searches leave these. So for each training
problem some states are drawn (a state of its plan, then a few random actions) and solved by breadth-first search,
which grounds a problem once for all of them. The new data set holds the rows of the old one and these for training.
"""

import json
import random
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from oclgen.classical import breadth_first
from oclgen.data.dataset import Dataset, Row, Writer
from oclgen.errors import InvalidPlanError
from oclgen.interfaces import Plan, State, Step
from oclgen.pddl.initial_state import problem_from
from oclgen.pddl.plan_file import format_plan, parse_plan
from oclgen.pddl.task import PddlTask
from oclgen.pddl.validate import validate
from oclgen.search.anytime import Budget
from oclgen.search.context import replay, successors
from oclgen.support.parallel import run_unordered

NUMBERS = 1_000_000
"""The k-th detour of problem number i has number i + k * NUMBERS."""
GROUNDING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Detours:
    """How many states for each problem, how many random actions at most lead to each, and the limits of a search."""

    states: int = 6
    walk: int = 8
    time_limit: float = 3.0
    memory_limit: int = 4 << 30
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    row: Row
    domain_text: str
    detours: Detours


def add_detours(data: Dataset, out: Path, detours: Detours, workers: int) -> Generator[tuple[int, int], None, None]:
    """Make or finish a data set; yields how many training problems are done, and of how many."""
    writer = Writer(out, {**data.recipe, "detours": asdict(detours)}, data.domain_text)
    try:
        for row in data.rows():
            if row.id not in writer.fingerprints:
                writer.append(row)
        rows = list(data.rows("train"))
        jobs = [Job(row, data.domain_text, detours) for row in rows if not finished(row, writer, detours)]
        done = len(rows) - len(jobs)
        yield done, len(rows)
        for made in run_unordered(walk_astray, jobs, workers):
            for row in made:
                if row.id not in writer.fingerprints:
                    writer.append(row)
            done += 1
            yield done, len(rows)
    finally:
        writer.close()


def finished(row: Row, writer: Writer, detours: Detours) -> bool:
    return all(row.id + k * NUMBERS in writer.fingerprints for k in range(1, detours.states + 1))


def walk_astray(job: Job) -> list[Row]:
    """What a worker does: all detours of one problem. A state without a known plan is a failed row."""
    row, detours = job.row, job.detours
    task = PddlTask(job.domain_text, row.problem)
    plan, rng = parse_plan(row.plan, row.name), random.Random(f"{detours.seed}/{row.id}")
    ways = [way(task, plan, detours.walk, rng) for _ in range(detours.states)]
    budget = Budget(GROUNDING_SECONDS + detours.states * detours.time_limit, memory_bytes=detours.memory_limit)
    starts, started = [actions for actions, _ in ways], time.monotonic()
    plans = breadth_first.plans_from(job.domain_text, row.problem, starts, detours.time_limit, budget)
    seconds = (time.monotonic() - started) / detours.states
    problems = [problem_from(row.problem, task.info.domain, task.atoms(state)) for _, state in ways]
    pairs = zip(problems, plans, strict=True)
    return [detour(job, k, problem, found, seconds) for k, (problem, found) in enumerate(pairs, 1)]


def way(task: PddlTask, plan: Plan, walk: int, rng: random.Random) -> tuple[Plan, State]:
    """To some state of the plan and on from there at random, never through a goal; and where that leads."""
    course = replay(task, task.initial_state, tuple(Step(action, 1.0) for action in plan))
    offset = rng.randrange(max(1, len(plan)))
    actions, state = list(plan[:offset]), course.states[offset]
    for _ in range(rng.randint(1, walk)):
        onward = [pair for pair in successors(task, state) if not task.is_goal(pair[1])]
        if not onward:
            break
        action, state = rng.choice(onward)
        actions.append(action)
    return tuple(actions), state


def detour(job: Job, k: int, problem: str, plan: Plan | None, seconds: float) -> Row:
    """`seconds` are a share of what all detours of a problem took, grounding included."""
    row = job.row
    if plan is not None and not (verdict := validate(job.domain_text, problem, plan)).valid:
        raise InvalidPlanError(f"{row.name}: the plan of a detour is not valid: {verdict.reason}")
    return replace(
        row,
        id=row.id + k * NUMBERS,
        name=f"{row.name}-detour{k}",
        split="train" if plan else "failed",
        problem=problem,
        fingerprint=f"{row.fingerprint}-{k}",
        plan=format_plan(plan or ()),
        length=len(plan) if plan else -1,
        outcome="detour",
        seconds=seconds,
        teacher=breadth_first.METHOD,
        parameters=json.dumps({"problem": row.id}),
        seed=job.detours.seed,
    )
