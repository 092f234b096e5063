"""The teacher: the planner whose plans are learned from. A worker gives it one problem and turns the result into a row.

The independent validator checks every plan before it becomes part of a row.
"""

import json
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from oclgen.classical.planners import PLANNERS
from oclgen.data.attempts import Attempt, run_attempt, run_classical
from oclgen.data.dataset import FAILED, UNDECIDED, Row
from oclgen.data.problems import Problem
from oclgen.errors import OclgenError, PddlError
from oclgen.interfaces import Plan
from oclgen.model_folders import check_model, find_model
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import format_plan, parse_steps
from oclgen.pddl.reading.domain import read_domain
from oclgen.search.anytime import SearchResult
from oclgen.support.provenance import versions

PACKAGES = ("fast-downward.translate", "pymimir")
"""Packages whose versions a plan depends on, beside this one."""


@dataclass(frozen=True, slots=True)
class TeacherSettings:
    """The teacher and its limits for each problem."""

    teacher: str = "lama-first"
    time_limit: float = 1200.0
    memory_limit: int = 8 << 30
    translate_options: tuple[str, ...] = ()
    model: str = ""
    """A model folder, for a teacher that searches with one; empty is the shipped model of the domain."""


@dataclass(frozen=True, slots=True)
class TeacherJob:
    problem: Problem
    domain_text: str
    fingerprint: str
    seed: int
    settings: TeacherSettings
    scratch: Path


@dataclass(frozen=True, slots=True)
class TeacherResult:
    """A row, and the processor seconds that it cost us and the teacher in process `pid`."""

    row: Row
    pid: int
    own_seconds: float
    teacher_seconds: float


def check_teacher(settings: TeacherSettings, domain_text: str) -> None:
    """Refuse a teacher without a model for this domain."""
    if settings.teacher not in PLANNERS:
        domain = read_domain(domain_text)
        check_model(Path(settings.model) if settings.model else find_model(domain), domain)


def run_teacher(job: TeacherJob) -> TeacherResult:
    """Work of one process: one problem."""
    own, teacher = time.process_time(), children_seconds()
    row = make_row(job)
    return TeacherResult(row, os.getpid(), time.process_time() - own, children_seconds() - teacher)


def make_row(job: TeacherJob) -> Row:
    started = time.monotonic()
    plan, outcome = given_plan(job) if job.problem.plan_file else teacher_plan(job)
    return Row(
        id=job.problem.index,
        split=FAILED if plan is None else UNDECIDED,
        name=job.problem.name,
        problem=job.problem.text,
        fingerprint=job.fingerprint,
        plan="" if plan is None else format_plan(plan),
        length=-1 if plan is None else len(plan),
        outcome=outcome,
        seconds=time.monotonic() - started,
        teacher="given" if job.problem.plan_file else job.settings.teacher,
        parameters=json.dumps(job.problem.parameters),
        seed=job.seed,
        versions=json.dumps(versions(*PACKAGES)),
    )


def teacher_plan(job: TeacherJob) -> tuple[Plan | None, str]:
    """The teacher's best plan, if it has one, and how the teacher ended."""
    try:
        result = classical_result(job) if job.settings.teacher in PLANNERS else learned_result(job)
    except OclgenError as error:
        return None, f"error: {error}"
    return (None, "unsupported") if result is None else (result.plan, result.ending.value)


def classical_result(job: TeacherJob) -> SearchResult:
    settings = job.settings
    return run_classical(
        settings.teacher,
        job.domain_text,
        job.problem.text,
        seconds=settings.time_limit,
        memory_bytes=settings.memory_limit,
        translate_options=settings.translate_options,
        scratch=job.scratch,
    )


def learned_result(job: TeacherJob) -> SearchResult | None:
    """A search with a model; every problem has its own seed."""
    settings = job.settings
    attempt = Attempt(
        job.domain_text,
        job.problem.text,
        settings.teacher,
        Path(settings.model) if settings.model else None,
        seconds=settings.time_limit,
        memory_bytes=settings.memory_limit,
        seed=job.problem.index,
    )
    return run_attempt(attempt)


def given_plan(job: TeacherJob) -> tuple[Plan, str]:
    """The plan that came with the problem."""
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
