"""States beside the plans, where problems are few: more to learn from than one plan for each problem.

A policy that has seen only plans does not know what to do one wrong action later, and a few dozen plans are soon
learned by heart. So from each training problem come problems that start elsewhere: at its initial state or at a state
of its plan, and from there some random actions on. The teacher solves them. Where it proves that there is no plan, the
state is a dead end: the heuristic learns that it is far from the goal, the policy that nothing leads there. Problems
that were too hard for the teacher come with fewer goals, never more of them than solved ones.

WORK/off_plan/      these problems, with plans or without
WORK/off_plan.json  when, on the clock, this stage ends
"""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from oclgen.data import dataset
from oclgen.data.dataset import DEAD_END, TRAIN, Row, Writer
from oclgen.data.dead_ends import PLANNER as TEACHER
from oclgen.data.dead_ends import ask, dead_end_row, is_dead_end
from oclgen.data.off_plan import ID_STEP, off_plan_row, walk_from
from oclgen.errors import UnsupportedError
from oclgen.interfaces import Plan
from oclgen.pddl.initial_state import goal_parts, problem_from, with_fewer_goals
from oclgen.pddl.plan_file import parse_plan
from oclgen.pddl.task import PddlTask
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.source import Say
from oclgen.support.files import read_json, write_json
from oclgen.support.parallel import Workers, progress_note, run_unordered
from oclgen.support.progress import Progress
from oclgen.support.settings import format_duration

FEW_PROBLEMS = 1000
"""With so many training problems, states beside the plans are not needed."""
EXAMPLES, MOST_STATES = 2000, 30
"""Examples that are enough in all, and states beside one plan."""
LEAST_WALK = 8
"""The longest walk is as long as the plan, but at least this."""
LEAST_LIMIT, MOST_LIMIT, LIMIT_FACTOR = 2.0, 10.0, 4.0
"""Seconds for a state, and for how much harder than the problem itself it may be: many states have no plan at all."""
SOLVED, DEAD_ENDS, FAILED = "solved", "proved to be dead ends", "without a plan"
GOALS = 0.1, 0.7
"""The share of goals that a hard problem keeps."""


@dataclass(frozen=True, slots=True)
class StateJob:
    """The k-th off-plan state of a problem."""

    row: Row
    k: int
    domain_text: str
    translate_options: tuple[str, ...]
    seed: int


def states_each(solved: int, hard: int = 0) -> int:
    """How many rounds: in each of them comes a state beside each plan, and at most as many of the problems that were
    too hard. 0 where there are problems enough."""
    if solved >= FEW_PROBLEMS:
        return 0
    return min(MOST_STATES, ceil((EXAMPLES - solved) / (solved + min(solved, hard))))


def with_several_goals(rows: list[Row]) -> list[Row]:
    """Problems that can come with fewer."""
    return [row for row in rows if goal_parts(row.problem) > 1]


def some(rows: list[Row], most: int, *key: object) -> list[Row]:
    """Rows by chance, at most so many; the same ones for the same key."""
    return random.Random("/".join(map(str, key))).sample(rows, min(most, len(rows)))


@dataclass(frozen=True)
class OffPlanStage:
    """The problems that are learned from, and the folder of this stage."""

    work: Path
    rows: list[Row]
    hard: list[Row]
    """Problems with several goals for which the teacher's limits were too small."""
    data: dataset.Dataset
    seed: int

    @property
    def folder(self) -> Path:
        return self.work / "off_plan"

    def run(self, clock: Clock, seconds: float, workers: Workers, say: Say) -> None:
        """Solve states until there are enough or the time is up; goes on where it was stopped."""
        path = self.work / "off_plan.json"
        if not path.exists():
            write_json(path, {"end": round(clock.spent + seconds, 1)})
        end, each = float(read_json(path)["end"]), states_each(len(self.rows), len(self.hard))
        say(
            f"off-plan states: few problems to learn from ({len(self.rows)}), so {TEACHER} also solves up to {each} "
            f"states beside each plan{self.fewer_goals()}, {format_duration(max(0.0, end - clock.spent))} in all"
        )
        recipe = {**self.data.recipe, "off_plan": {"states": each, "seed": self.seed}}
        with closing(Writer(self.folder, recipe, self.data.domain_text)) as writer:
            self.solve(writer, each, clock, end, workers)
        outcomes = Counter(outcome_text(row) for row in dataset.open_dataset(self.folder).rows())
        say(f"off-plan states: {', '.join(f'{outcomes[text]} {text}' for text in (SOLVED, DEAD_ENDS, FAILED))}")

    def problems(self, k: int) -> list[Row]:
        """The problems of the k-th round."""
        return self.rows + some(self.hard, len(self.rows), self.seed, k)

    def fewer_goals(self) -> str:
        count, hard = len(self.problems(1)) - len(self.rows), len(self.hard)
        return f" and, as often, {count} of the {hard} problems that were too hard, with fewer goals" if hard else ""

    def solve(self, writer: Writer, each: int, clock: Clock, end: float, workers: Workers) -> None:
        total, done = each * len(self.problems(1)), len(writer.fingerprints)
        progress = Progress(total, done, "state")
        for row in run_unordered(solve_state, self.jobs(writer, each, clock, end), workers):
            writer.append(row)
            done += 1
            progress.show(done, progress_note(workers, f"at most {format_duration(max(0.0, end - clock.spent))}"))
        progress.close()

    def jobs(self, writer: Writer, each: int, clock: Clock, end: float) -> Iterator[StateJob]:
        """One state of every problem before the second of any."""
        for k in range(1, each + 1):
            for row in self.problems(k):
                if row.id + k * ID_STEP in writer.fingerprints:
                    continue
                if clock.spent > end:
                    return
                yield StateJob(row, k, self.data.domain_text, self.data.translate_options, self.seed)


def outcome_text(row: Row) -> str:
    if row.split == dataset.FAILED:
        return FAILED
    return DEAD_ENDS if row.outcome == DEAD_END else SOLVED


def off_plan_rows(work: Path) -> list[Row]:
    """The solved states and dead ends of a finished stage; none where there was no such stage."""
    folder = work / "off_plan"
    return list(dataset.open_dataset(folder).rows(TRAIN)) if folder.exists() else []


def problem_of(row: Row) -> int:
    """The number of the problem that an example of this stage comes from."""
    return row.id % ID_STEP


def solve_state(job: StateJob) -> Row:
    """Work of one process: walk to a state and let the teacher solve it. A problem that is too large for us, though not
    for the teacher, has no such states."""
    row, started = job.row, time.monotonic()
    try:
        problem = off_plan_problem(job) if row.plan else fewer_goals_problem(job)
    except UnsupportedError:
        return off_plan_row(replace(row, teacher=TEACHER, seed=job.seed), job.k, job.domain_text, row.problem, None)
    result = ask(job.domain_text, problem, seconds_for(row), job.translate_options)
    made = replace(row, seconds=time.monotonic() - started, teacher=TEACHER, seed=job.seed)
    found = off_plan_row(made, job.k, job.domain_text, problem, None if result is None else result.plan)
    return dead_end_row(found, row.length) if row.plan and is_dead_end(result) else found


def off_plan_problem(job: StateJob) -> str:
    task = PddlTask(job.domain_text, job.row.problem)
    _, state = walk_from(task, *drawn_walk(job))
    return problem_from(job.row.problem, task.info.domain, task.atoms(state))


def fewer_goals_problem(job: StateJob) -> str:
    rng = random.Random(f"{job.seed}/{job.row.id}/{job.k}")
    return with_fewer_goals(job.row.problem, rng.uniform(*GOALS), rng)


def drawn_walk(job: StateJob) -> tuple[Plan, int, random.Random]:
    """Half of the walks begin at the initial state; short ones are as frequent as long ones."""
    plan, rng = parse_plan(job.row.plan, job.row.name), random.Random(f"{job.seed}/{job.row.id}/{job.k}")
    offset = rng.randrange(max(1, len(plan))) if job.k % 2 == 0 else 0
    longest = max(LEAST_WALK, len(plan))
    return plan[:offset], max(1, round(longest ** rng.random())), rng


def seconds_for(row: Row) -> float:
    """For the teacher, to solve a state beside the plan of a problem."""
    return min(MOST_LIMIT, max(LEAST_LIMIT, LIMIT_FACTOR * row.seconds if row.plan else 0.0))
