import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread

import psutil
import pytest

from oclgen.classical import fast_downward
from oclgen.classical.planners import PLANNERS
from oclgen.classical.process import Process
from oclgen.domains import catalog
from oclgen.errors import ExitCode, PddlError, UnsupportedError
from oclgen.interfaces import Plan
from oclgen.pddl.checking.validate import validate
from oclgen.search.anytime import Budget, Counters, Ending, SearchResult, exit_code, run

SMALL = {
    "blocksworld": ["blocks=5"],
    "labyrinth": ["size=3", "rotations=1"],
    "logistics": ["cities=2", "city_size=2", "packages=2", "airplanes=1"],
    "sokoban": ["grid=6", "boxes=1"],
}

DOMAIN = """(define (domain d) (:requirements :strips :typing) (:types a b)
  (:predicates (p ?x) (q ?x - (either a b)))
  (:action go :parameters (?x - a) :precondition (p ?x) :effect (and (not (p ?x)) (q ?x))))"""
PROBLEM = "(define (problem x) (:domain d) (:objects o - a u - b) (:init (p o)) (:goal (q o)))"

COSTS = """(define (domain d) (:requirements :strips :numeric-fluents :action-costs) ; costs
  (:predicates (at0) (at1) (at2)) (:functions (total-cost) - number (FAR) - number)
  (:action leap :parameters () :precondition (at0) :effect (and (at2) (increase (total-cost) (far))))
  (:action walk :parameters () :precondition (at0) :effect (and (at1) (increase (total-cost) 1)))
  (:action rest :parameters () :precondition (at1) :effect (and (at2) (increase (total-cost) 0)))
  (:action wait :parameters () :precondition (at1) :effect (increase (total-cost) 1)))"""
COSTS_PROBLEM = """(define (problem x) (:domain d) (:init (at0) (= (total-cost) 0) (= (far) 99.5))
  (:goal (at2)) (:metric minimize (total-cost)))"""


def drawn(domain: str, *settings: str, index: int = 0) -> tuple[str, str]:
    spec = catalog.load(domain)
    return spec.domain_text, catalog.draw(spec, 1, index, catalog.overrides(spec, settings)).text


def solved(
    method: str,
    domain: str,
    problem: str,
    seconds: float = 60.0,
    memory: int | None = None,
    translate_options: tuple[str, ...] = (),
) -> SearchResult:
    budget = Budget(seconds, memory_bytes=memory)
    counters = Counters()
    plans = PLANNERS[method].plans(domain, problem, budget, counters=counters, translate_options=translate_options)
    return run(plans, budget, counters)


HARD = drawn("blocksworld", "blocks=25")
"""Translated in a second, searched by LAMA and LM-cut for much longer than any test takes."""


OLDER: dict[Path, set[psutil.Process]] = {}
"""The processes that were there when a test's folder was made."""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the private folders of this test's searches are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    OLDER[tmp_path] = children()
    return tmp_path


def children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def nothing_left(scratch: Path) -> bool:
    """No file, and no process beside those that earlier tests may have left (multiprocessing keeps helpers)."""
    return not children() - OLDER[scratch] and not list(scratch.iterdir())


@pytest.mark.parametrize("domain", SMALL)
def test_lama_first_finds_a_valid_plan_in_every_domain(domain: str, scratch: Path) -> None:
    texts = drawn(domain, *SMALL[domain])
    options = catalog.load(domain).defaults.teacher.translate_options
    result = solved("lama-first", *texts, translate_options=options)
    assert result.plan is not None
    assert validate(*texts, result.plan).valid
    assert result.ending is Ending.COMPLETED
    assert result.counters.expanded > 0
    assert nothing_left(scratch)


def test_lmcut_proves_a_length_that_lama_reaches_too() -> None:
    texts = drawn("blocksworld", "blocks=6")
    lama, lmcut = solved("lama", *texts), solved("lmcut", *texts)
    assert lama.plan is not None and lmcut.plan is not None
    assert len(lama.plan) == len(lmcut.plan)
    assert lama.ending is lmcut.ending is Ending.EXHAUSTED


def test_lama_yields_strictly_better_plans_until_the_time_is_up(scratch: Path) -> None:
    budget = Budget(600.0)
    found: list[Plan] = []

    def end_time_at_the_second(plan: Plan) -> None:
        found.append(plan)
        if len(found) == 2:
            budget.seconds = 0.0

    result = run(PLANNERS["lama"].plans(*HARD, budget), budget, Counters(), end_time_at_the_second)
    assert len(found) >= 2
    assert [len(plan) for plan in found] == sorted({len(plan) for plan in found}, reverse=True)
    assert all(validate(*HARD, plan).valid for plan in found)
    assert result.ending is Ending.TIME
    assert exit_code(result.plan, result.ending) is ExitCode.SUCCESS
    assert nothing_left(scratch)


@pytest.mark.parametrize("seconds", [0.0, 0.05, 1.5])
def test_the_time_limit_kills_translation_and_search(seconds: float, scratch: Path) -> None:
    result = solved("lmcut", *HARD, seconds=seconds)
    assert (result.plan, result.ending) == (None, Ending.TIME)
    assert exit_code(result.plan, result.ending) is ExitCode.OUT_OF_TIME
    assert nothing_left(scratch)


def test_the_memory_limit_holds_in_the_translator(scratch: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("large")
    domain, problem = folder / "domain.pddl", folder / "problem.pddl"
    texts = drawn("logistics", "cities=50", "city_size=5", "packages=50", "airplanes=10")
    for path, text in zip((domain, problem), texts, strict=True):
        path.write_text(text)
    arguments = ["solve", problem, "--method", "lama-first", "--overall-memory-limit", "150M"]
    arguments += ["--overall-time-limit", "5m", "--plan-file", folder / "plan"]
    command = [sys.executable, "-m", "oclgen", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.OUT_OF_MEMORY, "")
    assert nothing_left(scratch)


def test_an_interrupt_ends_the_search_with_the_plan_so_far(scratch: Path) -> None:
    budget = Budget(60.0)
    plans = PLANNERS["lama"].plans(*HARD, budget)
    result = run(plans, budget, Counters(), on_plan=lambda _: budget.interrupt())
    assert result.plan is not None
    assert result.ending is Ending.INTERRUPTED
    assert nothing_left(scratch)


def test_closing_the_generator_leaves_no_process_and_no_file(scratch: Path) -> None:
    plans = PLANNERS["lama"].plans(*HARD, Budget(60.0))
    next(plans)
    assert psutil.Process().children()
    plans.close()
    assert nothing_left(scratch)


def test_the_child_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    for name, text in zip(("domain", "problem"), HARD, strict=True):
        (tmp_path / name).write_text(text)
    code = (
        "import psutil; from oclgen.classical.planners import PLANNERS; from oclgen.search.anytime import Budget\n"
        "plans = PLANNERS['lama'].plans('domain', 'problem', Budget(60)); next(plans)\n"
        "print(psutil.Process().children()[0].pid, flush=True); list(plans)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, env=environment) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        assert child.is_running()
        parent.send_signal(signal.SIGKILL)
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running()


@pytest.mark.parametrize("method", PLANNERS)
def test_a_proof_that_there_is_no_plan_is_told(method: str) -> None:
    result = solved(method, DOMAIN, PROBLEM.replace("(p o)", ""))
    assert exit_code(result.plan, result.ending) is ExitCode.UNSOLVABLE


@pytest.mark.parametrize("method", PLANNERS)
def test_a_goal_that_is_true_already_needs_no_action(method: str) -> None:
    result = solved(method, DOMAIN, PROBLEM.replace("(p o)", "(q o)"))
    assert (result.plan, result.ending) == ((), Ending.EXHAUSTED)


@pytest.mark.parametrize("method", PLANNERS)
def test_length_counts_and_not_cost(method: str) -> None:
    assert solved(method, COSTS, COSTS_PROBLEM).plan == (("leap",),)


def test_costs_and_numbers_are_taken_out_of_the_copy() -> None:
    domain, problem = fast_downward.without_costs(COSTS), fast_downward.without_costs(COSTS_PROBLEM)
    for word in ("fluents", "costs", "functions", "increase", "total-cost", "metric", "="):
        assert word not in domain + problem
    assert domain.count("(") == domain.count(")")
    assert problem.count("(") == problem.count(")")


def test_equality_of_objects_is_not_taken_for_a_number() -> None:
    assert fast_downward.without_costs("(not (= ?a ?b))") == "(not (= ?a ?b))"


def test_pddl_it_cannot_read_is_an_error_of_one_line() -> None:
    with pytest.raises(PddlError, match="Missing '\\)'") as error:
        solved("lama-first", DOMAIN, "(define (problem")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("printed", ["OSError: [Errno 28] No space left on device", ""])
def test_a_full_disk_is_not_a_problem_without_a_plan(printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The translator says so; the search ends as if all were well."""

    def start(*_: object) -> subprocess.Popen[bytes]:
        code = 30 if printed else 0
        return subprocess.Popen(
            ["sh", "-c", f"echo '{printed}'; exit {code}"], stdout=subprocess.PIPE, start_new_session=True
        )

    monkeypatch.setattr(fast_downward, "start", start)
    with pytest.raises(OSError, match="No space left on device: 'files of lama-first'") as error:
        solved("lama-first", DOMAIN, PROBLEM)
    assert error.value.errno == errno.ENOSPC


def test_either_outside_predicates_is_unsupported() -> None:
    with pytest.raises(UnsupportedError, match=r"\(either a b\)"):
        solved("lama-first", DOMAIN.replace("?x - a)", "?x - (either a b))"), PROBLEM)


def test_without_the_package_the_missing_module_is_named(monkeypatch: pytest.MonkeyPatch, scratch: Path) -> None:
    monkeypatch.setattr(fast_downward, "PACKAGE", "up_fast_downward_that_is_not_there")
    with pytest.raises(ModuleNotFoundError) as error:
        solved("lama-first", DOMAIN, PROBLEM)
    assert error.value.name == "up_fast_downward_that_is_not_there"
    assert nothing_left(scratch)


def test_the_same_problem_gives_the_same_plan() -> None:
    texts = drawn("logistics", "cities=3", "city_size=2", "packages=4", "airplanes=2")
    assert solved("lama-first", *texts).plan == solved("lama-first", *texts).plan


def test_a_plan_file_counts_when_its_last_line_is_there(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as child:
        process = Process(tmp_path / "plan.1", child)
        assert plans_now(process) == []
        (tmp_path / "plan.1").write_text("(a b)\n(c )\n")
        assert plans_now(process) == []
        (tmp_path / "plan.1").write_text("(a b)\n(c )\n; cost = 2 (unit cost)\n")
        (tmp_path / "plan.2").write_text("; cost = 0 (unit cost)\n")
        assert plans_now(process) == [(("a", "b"), ("c",)), ()]
        assert plans_now(process) == []


def test_a_child_can_be_killed_before_its_reader_has_started(tmp_path: Path) -> None:
    """A signal may come in the middle of the start of a thread."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        process = Process(tmp_path / "plan", child, reader=Thread(target=lambda: None))
        process.kill()
    assert child.returncode == -signal.SIGKILL


def plans_now(process: Process) -> list[Plan]:
    return list(process.new_plans())


def test_seconds_before_the_search_count_too() -> None:
    budget = Budget(5.0, started=time.monotonic() - 10.0)
    result = run(PLANNERS["lama-first"].plans(*HARD, budget), budget, Counters())
    assert (result.plan, result.ending) == (None, Ending.TIME)
