"""Make a data set: take problems, drop those seen before, have the teacher solve the rest, keep what holds.

Problems are taken in order and compared by fingerprint with all before them, across splits; the first `test`
distinct ones are the test split, the next `val` the validation split, all others are for training. So the split
of a problem never changes, whether a run is resumed or `count` is raised later. What the teacher fails on
becomes a split of its own. Every plan is replayed by the independent validator before it is stored.

Paper: Section 5 (data from LAMA-first, 20 minutes a problem), tab:results_subset (what the teacher fails on).
"""

import json
import os
import resource
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from oclgen import __version__
from oclgen.classical import fast_downward
from oclgen.classical.planners import PLANNERS
from oclgen.data.dataset import Row, Writer, read_recipe
from oclgen.data.problems import Problem, Problems
from oclgen.errors import OclgenError, PddlError
from oclgen.interfaces import Plan
from oclgen.model_folders import check_model, find_model
from oclgen.pddl.domain import read_domain
from oclgen.pddl.fingerprint import problem_fingerprint
from oclgen.pddl.plan_file import format_plan, parse_steps
from oclgen.pddl.problem import read_problem
from oclgen.pddl.validate import validate
from oclgen.planner import prepare
from oclgen.search.anytime import Budget, Counters, Search, run
from oclgen.support.parallel import run_unordered

MAX_IN_VAIN = 1000
"""So many draws in a row without a new problem, and 20 for each one found, mean that there are no more."""


@dataclass(frozen=True, slots=True)
class Teaching:
    """The teacher and its limits for each problem."""

    teacher: str = "lama-first"
    time_limit: float = 1200.0
    memory_limit: int = 8 << 30
    translate_options: tuple[str, ...] = ()
    model: str = ""
    """A model folder, for a teacher that searches with one; empty is the shipped model of the domain."""


@dataclass(frozen=True, slots=True)
class Job:
    problem: Problem
    domain_text: str
    fingerprint: str
    split: str
    seed: int
    teaching: Teaching
    scratch: Path


@dataclass(frozen=True, slots=True)
class Done:
    """A row, and the processor seconds that it cost us and the teacher in process `pid`."""

    row: Row
    pid: int
    own_seconds: float
    teacher_seconds: float


@dataclass(slots=True)
class Tally:
    """How far a run is; `rows` and the seconds are of this run, `stored` counts all."""

    stored: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    teacher_seconds: float = 0.0
    worker_seconds: float = 0.0
    started: float = field(default_factory=time.process_time)

    def add(self, done: Done) -> None:
        self.stored += 1
        self.rows[done.row.split] += 1
        self.teacher_seconds += done.teacher_seconds
        if done.pid != os.getpid():
            self.worker_seconds += done.own_seconds

    @property
    def own_share(self) -> float:
        """Our part of all processor time so far; the rest is the teacher's."""
        own = time.process_time() - self.started + self.worker_seconds
        return own / max(own + self.teacher_seconds, 1e-9)


def recipe(problems: Problems, teaching: Teaching, seed: int, val: int, test: int) -> dict[str, object]:
    """All that the rows depend on; a folder holds rows of one recipe only."""
    settings = {**asdict(teaching), "translate_options": list(teaching.translate_options)}
    if teaching.teacher in PLANNERS:
        del settings["model"]
    return {"format": 1, **problems.recipe, "seed": seed, "val": val, "test": test, **settings}


def split_sizes(out: Path, count: int, val: int | None, test: int | None) -> tuple[int, int]:
    """Sizes that were not given are those of the data set, if there is one, or else 5 % and at most 1000."""
    stored = read_recipe(out) if (out / "recipe.json").exists() else {}
    default = min(count // 20, 1000)
    return stored.get("val", default) if val is None else val, stored.get("test", default) if test is None else test


def collect(
    problems: Problems, out: Path, teaching: Teaching, *, count: int, val: int, test: int, seed: int, workers: int
) -> Iterator[Tally]:
    """Add rows until the folder holds `count`; yield the same tally before the first and after each."""
    check_teacher(teaching, problems.domain_text)
    writer = Writer(out, recipe(problems, teaching, seed, val, test), problems.domain_text)
    tally = Tally(stored=len(writer.fingerprints))
    yield tally
    jobs = remaining_jobs(problems, teaching, writer, count, val, test, seed)
    try:
        for done in run_unordered(teach, jobs, workers):
            writer.append(done.row)
            tally.add(done)
            yield tally
    finally:
        writer.close()


def check_teacher(teaching: Teaching, domain_text: str) -> None:
    """Refuse a teacher without a model for this domain."""
    if teaching.teacher not in PLANNERS:
        domain = read_domain(domain_text)
        check_model(Path(teaching.model) if teaching.model else find_model(domain), domain)


def remaining_jobs(
    problems: Problems, teaching: Teaching, writer: Writer, count: int, val: int, test: int, seed: int
) -> Iterator[Job]:
    """Problems, in order, that are neither stored nor equal to an earlier one, until there are `count` or no more."""
    scratch = empty_scratch(writer.path)
    stored = dict(writer.fingerprints)
    seen = set(stored.values())
    index = rank = in_vain = 0
    while rank < count and in_vain < MAX_IN_VAIN + 20 * rank:
        if index in stored:
            rank, in_vain = rank + 1, 0
        else:
            problem = problems.get(index)
            if problem is None:
                return
            mark = mark_of(problems, problem)
            in_vain += 1
            if mark not in seen:
                seen.add(mark)
                split = "test" if rank < test else "val" if rank < test + val else "train"
                rank, in_vain = rank + 1, 0
                yield Job(problem, problems.domain_text, mark, split, seed, teaching, scratch)
        index += 1


def mark_of(problems: Problems, problem: Problem) -> str:
    info = read_problem(problems.domain_text, problem.file or problem.text)
    return problem_fingerprint(info, problems.meaningful_types)


def empty_scratch(out: Path) -> Path:
    """A place for the teachers' files, without those that the teachers of a killed run left."""
    scratch = out / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    return scratch


def teach(job: Job) -> Done:
    """What a worker does."""
    own, teacher = time.process_time(), children_seconds()
    row = taught(job)
    return Done(row, os.getpid(), time.process_time() - own, children_seconds() - teacher)


def taught(job: Job) -> Row:
    started = time.monotonic()
    plan, outcome = given_plan(job) if job.problem.plan_file else teachers_plan(job)
    return Row(
        id=job.problem.index,
        split="failed" if plan is None else job.split,
        name=job.problem.name,
        problem=job.problem.text,
        fingerprint=job.fingerprint,
        plan="" if plan is None else format_plan(plan),
        length=-1 if plan is None else len(plan),
        outcome=outcome,
        seconds=time.monotonic() - started,
        teacher="given" if job.problem.plan_file else job.teaching.teacher,
        parameters=json.dumps(job.problem.parameters),
        seed=job.seed,
        versions=json.dumps(versions()),
    )


def versions() -> dict[str, str]:
    """Of all that may have made a plan."""
    return {"oclgen": __version__, "fast_downward": fast_downward.version(), "pymimir": metadata.version("pymimir")}


def teachers_plan(job: Job) -> tuple[Plan | None, str]:
    """The teacher's best plan, if it is one, and how the teacher ended."""
    budget = Budget(job.teaching.time_limit, memory_bytes=job.teaching.memory_limit)
    counters = Counters()
    lecture = teacher_search if job.teaching.teacher in PLANNERS else own_plans
    try:
        result = run(lecture(job, budget, counters), budget, counters)
    except OclgenError as error:
        return None, f"error: {error}"
    if result.plan is not None:
        verdict = validate(job.domain_text, job.problem.text, result.plan)
        if not verdict.valid:
            return None, f"invalid: {verdict.reason}"
    return result.plan, result.ending.value


def teacher_search(job: Job, budget: Budget, counters: Counters) -> Search:
    teaching = job.teaching
    texts = job.domain_text, job.problem.text
    return PLANNERS[teaching.teacher].plans(
        *texts, budget, counters=counters, translate_options=teaching.translate_options, scratch=job.scratch
    )


def own_plans(job: Job, budget: Budget, counters: Counters) -> Search:
    """A search with a model, under a seed of the problem's own."""
    teaching = job.teaching
    prepared = prepare(job.domain_text, job.problem.text, method=teaching.teacher, model=teaching.model or None)
    return prepared.plans(budget, counters, job.problem.index)


def given_plan(job: Job) -> tuple[Plan, str]:
    file = job.problem.plan_file
    assert file is not None
    steps = parse_steps(file.read_text(encoding="utf-8"), str(file))
    plan = tuple(action for _, action in steps)
    verdict = validate(job.domain_text, job.problem.text, plan)
    if not verdict.valid:
        line = steps[verdict.step - 1][0] if verdict.step else 1
        raise PddlError(f"{file}:{line}: not a plan for {job.problem.name}: {verdict.reason}")
    return plan, "given"


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
