"""States beside the plans of a data set, with shortest plans from them.

Optimal plans contain only states on shortest paths to the goal; searches leave these paths. So for each training
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
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.initial_state import problem_from
from oclgen.pddl.plan_file import format_plan, parse_plan
from oclgen.pddl.task import PddlTask
from oclgen.search.anytime import Budget
from oclgen.search.context import replay, successors
from oclgen.support.parallel import Workers, run_unordered

ID_STEP = 1_000_000
"""The k-th off-plan state of problem number i has number i + k * ID_STEP."""
GROUNDING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class OffPlanSettings:
    """How many states for each problem, how many random actions at most lead to each, and the limits of a search."""

    states: int = 6
    walk: int = 8
    time_limit: float = 3.0
    memory_limit: int = 4 << 30
    seed: int = 0


@dataclass(frozen=True, slots=True)
class OffPlanJob:
    row: Row
    domain_text: str
    settings: OffPlanSettings


def add_off_plan_states(
    data: Dataset, out: Path, settings: OffPlanSettings, workers: Workers
) -> Generator[tuple[int, int], None, None]:
    """Make or finish a data set; yields how many training problems are done, and of how many."""
    writer = Writer(out, {**data.recipe, "detours": asdict(settings)}, data.domain_text)
    try:
        for row in data.rows():
            if row.id not in writer.fingerprints:
                writer.append(row)
        rows = list(data.rows("train"))
        jobs = [OffPlanJob(row, data.domain_text, settings) for row in rows if not finished(row, writer, settings)]
        done = len(rows) - len(jobs)
        yield done, len(rows)
        for made in run_unordered(off_plan_rows, jobs, workers):
            for row in made:
                if row.id not in writer.fingerprints:
                    writer.append(row)
            done += 1
            yield done, len(rows)
    finally:
        writer.close()


def finished(row: Row, writer: Writer, settings: OffPlanSettings) -> bool:
    return all(row.id + k * ID_STEP in writer.fingerprints for k in range(1, settings.states + 1))


def off_plan_rows(job: OffPlanJob) -> list[Row]:
    """Work of one process: all off-plan states of one problem. A state without a known plan is a failed row."""
    row, settings = job.row, job.settings
    task = PddlTask(job.domain_text, row.problem)
    plan, rng = parse_plan(row.plan, row.name), random.Random(f"{settings.seed}/{row.id}")
    walks = [walk_off_plan(task, plan, settings.walk, rng) for _ in range(settings.states)]
    budget = Budget(GROUNDING_SECONDS + settings.states * settings.time_limit, memory_bytes=settings.memory_limit)
    starts, started = [actions for actions, _ in walks], time.monotonic()
    plans = breadth_first.plans_from(job.domain_text, row.problem, starts, settings.time_limit, budget)
    seconds = (time.monotonic() - started) / settings.states  # a share of what all took, grounding included
    problems = [problem_from(row.problem, task.info.domain, task.atoms(state)) for _, state in walks]
    pairs = zip(problems, plans, strict=True)
    made = replace(row, seconds=seconds, teacher=breadth_first.METHOD, seed=settings.seed)
    return [off_plan_row(made, k, job.domain_text, problem, found) for k, (problem, found) in enumerate(pairs, 1)]


def walk_off_plan(task: PddlTask, plan: Plan, walk: int, rng: random.Random) -> tuple[Plan, State]:
    """To a random state of the plan and on, at most `walk` actions; see `walk_from`."""
    return walk_from(task, plan[: rng.randrange(max(1, len(plan)))], rng.randint(1, walk), rng)


def walk_from(task: PddlTask, begin: Plan, walk: int, rng: random.Random) -> tuple[Plan, State]:
    """The actions `begin` and `walk` random ones, never through a goal; and the state that they end in."""
    trajectory = replay(task, task.initial_state, tuple(Step(action, 1.0) for action in begin))
    actions, state = list(begin), trajectory.states[-1]
    for _ in range(walk):
        onward = [pair for pair in successors(task, state) if not task.is_goal(pair[1])]
        if not onward:
            break
        action, state = rng.choice(onward)
        actions.append(action)
    return tuple(actions), state


def off_plan_row(row: Row, k: int, domain_text: str, problem: str, plan: Plan | None) -> Row:
    """The k-th state of a row's problem, with the plan found from there by the row's teacher in the row's seconds."""
    if plan is not None and not (verdict := validate(domain_text, problem, plan)).valid:
        raise InvalidPlanError(f"{row.name}: the plan of an off-plan state is not valid: {verdict.reason}")
    return replace(
        row,
        id=row.id + k * ID_STEP,
        name=f"{row.name}-detour{k}",
        split="train" if plan else "failed",
        problem=problem,
        fingerprint=f"{row.fingerprint}-{k}",
        plan=format_plan(plan or ()),
        length=len(plan) if plan else -1,
        outcome="detour",
        parameters=json.dumps({"problem": row.id}),
    )
