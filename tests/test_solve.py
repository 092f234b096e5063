"""`solve` from Python and from the command line: valid plans, plan files, records, exit codes, signals.

The models have random weights: what is tested is the machinery, which must hold whatever a model says.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oclgen import improving_plans, solve
from oclgen.cli import run as run_cli
from oclgen.domains import catalog
from oclgen.errors import ExitCode, InputError, InvalidPlanError, UnsupportedError
from oclgen.output import PlanFiles
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import is_complete, parse_plan
from oclgen.search import METHODS
from oclgen.search.anytime import Ending, Search, SearchResult
from tests.model_folder import write_random_model

SPEC = catalog.load("blocksworld")
DOMAIN = SPEC.domain_text
APPLICABLE = {"decoding": "applicable"}
"""What random weights need to get anywhere."""


def blocks(count: int, index: int = 0) -> str:
    return catalog.draw(SPEC, 3, index, catalog.overrides(SPEC, [f"blocks={count}"])).text


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("model"), "blocksworld")


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    path = tmp_path / "problem.pddl"
    path.write_text(blocks(5))
    return path


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "oclgen", *map(str, arguments)]


def solve_command(problem: Path, model: Path, *more: object) -> subprocess.CompletedProcess[str]:
    plan_file = problem.with_name("sas_plan")
    arguments = ("solve", problem, "--model", model, "--set", "decoding=applicable", "--plan-file", plan_file, *more)
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False)


@pytest.mark.parametrize("method", METHODS)
def test_every_learned_method_returns_a_valid_plan_with_an_improving_trace(method: str, model: Path) -> None:
    result = solve(DOMAIN, blocks(3, 2), method=method, model=model, time_limit=60, iterations=60, settings=APPLICABLE)
    assert result.plan
    assert validate(DOMAIN, blocks(3, 2), result.plan).valid
    lengths = [length for _, length in result.trace]
    assert lengths == sorted(set(lengths), reverse=True)
    assert lengths[-1] == len(result.plan)


@pytest.mark.parametrize("profile", ["extended", "paper"])
def test_the_same_seed_and_iterations_give_the_same_plan(profile: str, model: Path) -> None:
    def once() -> SearchResult:
        return solve(DOMAIN, blocks(6), model=model, time_limit=None, iterations=6, seed=4, profile=profile)

    first, second = once(), once()
    assert first.plan == second.plan
    assert first.counters == second.counters


def test_improving_plans_hands_out_each_plan_and_then_says_why_it_ended(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = "(define (problem p) (:domain blocksworld-4ops) (:objects a b) (:goal (on a b))" + (
        "(:init (arm-empty) (on-table a) (clear a) (on-table b) (clear b)))"
    )
    best = (("pickup", "a"), ("stack", "a", "b"))
    longer = (("pickup", "a"), ("putdown", "a"), *best)

    def two_plans(*_: Any, **__: Any) -> Search:
        yield longer
        yield best
        return Ending.ITERATIONS

    monkeypatch.setitem(METHODS, "oclgen", replace(METHODS["oclgen"], search=two_plans))
    plans = improving_plans(DOMAIN, problem, model=model)
    assert (next(plans), next(plans)) == (longer, best)
    with pytest.raises(StopIteration) as stop:
        next(plans)
    assert stop.value.value is Ending.ITERATIONS


def test_solve_may_run_in_several_threads(model: Path) -> None:
    results: dict[int, SearchResult] = {}

    def work(index: int) -> None:
        results[index] = solve(DOMAIN, blocks(5, index), model=model, time_limit=None, iterations=4)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, result in results.items():
        alone = solve(DOMAIN, blocks(5, index), model=model, time_limit=None, iterations=4)
        assert result.plan == alone.plan


def test_an_invalid_plan_of_a_search_is_a_loud_internal_error(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: Any, **__: Any) -> Search:
        yield (("pickup", "b1"), ("pickup", "b1"))
        return Ending.COMPLETED

    monkeypatch.setitem(METHODS, "oclgen", replace(METHODS["oclgen"], search=wrong))
    with pytest.raises(InvalidPlanError, match="invalid plan"):
        solve(DOMAIN, blocks(4), model=model)


def test_a_model_of_another_domain_is_refused(model: Path) -> None:
    other = catalog.load("sokoban")
    text = catalog.draw(other, 1, 0).text
    with pytest.raises(InputError, match="trained for domain 'blocksworld-4ops'"):
        solve(other.domain_text, text, model=model)


def test_a_problem_beyond_the_vocabulary_is_refused_with_the_bound(model: Path) -> None:
    with pytest.raises(UnsupportedError, match="40"):
        solve(DOMAIN, blocks(41), model=model)


def test_plan_files_lines_and_record_agree(problem: Path, model: Path) -> None:
    record_file = problem.with_name("record.json")
    limits = ("--iterations", 60, "--overall-time-limit", "60s")
    unsure = ("--set", "confidence=0.95", "--set", "percentile=3")  # an untrained policy needs expansions
    done = solve_command(problem, model, *limits, *unsure, "--json", record_file)
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(record_file.read_text())
    best = problem.with_name("sas_plan").read_text()
    plan = parse_plan(best, "sas_plan")
    assert is_complete(best)
    assert [" ".join(action) for action in plan] == record["plan"]
    assert f"Plan length: {len(plan)} step(s)." in done.stdout.splitlines()
    assert f"Plan cost: {len(plan)}" in done.stdout.splitlines()
    assert "Solution found!" in done.stdout
    assert re.search(r"^Search time: \d+\.\d+s$", done.stdout, re.MULTILINE)
    numbered = [problem.with_name(f"sas_plan.{number}") for number in range(1, len(record["trace"]) + 1)]
    lengths = [len(parse_plan(path.read_text(), path.name)) for path in numbered]
    assert lengths == [length for _, length in record["trace"]]
    assert not problem.with_name(f"sas_plan.{len(lengths) + 1}").exists()


def test_plans_of_an_earlier_run_are_removed(problem: Path, model: Path) -> None:
    stale = problem.with_name("sas_plan.99")
    stale.write_text("(pickup b1)\n; cost = 1 (unit cost)\n")
    solve_command(problem, model, "--iterations", 1)
    assert not stale.exists()


def test_plans_of_another_run_beside_ours_stay(problem: Path, model: Path) -> None:
    other = problem.with_name("sas_plan.b.1")
    other.write_text("(pickup b1)\n; cost = 1 (unit cost)\n")
    solve_command(problem, model, "--iterations", 1)
    assert other.exists()


def test_a_plan_file_may_be_a_pipe_which_stays_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    files = PlanFiles(tmp_path / "pipe", numbered=True)
    files.clear()
    with os.fdopen(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)) as reader:
        files.write((("pickup", "b1"),))
        assert reader.read() == "(pickup b1)\n; cost = 1 (unit cost)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("place", ["", "nowhere/plan"])
def test_a_place_for_no_plan_is_refused_before_the_search(place: str, problem: Path, model: Path) -> None:
    done = solve_command(problem, model, "--plan-file", problem.parent / place)
    assert done.returncode == ExitCode.BAD_INPUT
    assert "no plan can be written there" in done.stderr and done.stderr.count("\n") == 1


def test_a_goal_that_holds_already_is_an_empty_plan_and_no_unsolvable_task(problem: Path, model: Path) -> None:
    text = "(define (problem p) (:domain blocksworld-4ops) (:objects b1) (:init (arm-empty) (on-table b1) (clear b1))"
    problem.write_text(text + " (:goal (and)))")
    done = solve_command(problem, model, "--overall-time-limit", "60s")
    assert done.returncode == ExitCode.SUCCESS
    assert "Plan length: 0 step(s)." in done.stdout and "unsolvable" not in done.stdout


def test_a_problem_may_come_through_a_pipe(problem: Path, model: Path) -> None:
    arguments = command("solve", problem.with_name("domain.pddl"), "/dev/stdin", "--model", model, "--iterations", 1)
    given = problem.read_text()
    done = subprocess.run(arguments, input=given, capture_output=True, text=True, check=False, cwd=problem.parent)
    assert done.stderr == "" and "search exit code" in done.stdout


def test_running_out_of_memory_is_an_ending(problem: Path) -> None:
    code = (
        "from oclgen import solve_process; from oclgen.cli import main\n"
        "def search(run): raise MemoryError\n"
        "solve_process.SolveRun.search = search\n"
        f"main(['solve', '{problem}', '--plan-file', '{problem.with_name('plan')}'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.OUT_OF_MEMORY_BEFORE_SEARCH, "")
    assert "Memory limit has been reached." in done.stdout


def test_a_search_that_returns_while_the_watchdog_reports_waits_for_it(problem: Path, tmp_path: Path) -> None:
    code = (
        "import time; from oclgen import solve_process; from oclgen.cli import main\n"
        "from oclgen.search.anytime import Counters, Ending, SearchResult\n"
        "def late(run):\n"
        "    while run.budget.elapsed() < 1.5: time.sleep(0.01)\n"
        "    return SearchResult(None, Ending.TIME, (), Counters(), 1.5)\n"
        "def slow(*_): time.sleep(1.5); return {}\n"
        "solve_process.SolveRun.search, solve_process.versions = late, slow\n"
        f"main(['solve', '{problem}', '--overall-time-limit', '1s', '--json', '{tmp_path}/record', "
        f"'--plan-file', '{tmp_path}/plan'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.OUT_OF_TIME_BEFORE_SEARCH, "")
    assert done.stdout.count("search exit code: 21") == 1
    assert json.loads((tmp_path / "record").read_text())["exit_code"] == 21


def test_no_plan_within_the_limit_is_exit_code_23_and_no_plan_file(problem: Path, model: Path) -> None:
    code = (
        "from dataclasses import replace; from oclgen.cli import main; from oclgen.search import METHODS\n"
        "def out_of_time(*arguments):\n"
        "    budget = arguments[4]\n"
        "    budget.seconds = 0.0\n"
        "    yield from ()\n"
        "    return budget.ending if budget.exhausted() else None\n"
        "METHODS['astar'] = replace(METHODS['astar'], search=out_of_time)\n"
        f"main(['solve', '{problem}', '--method', 'astar', '--model', '{model}', '--overall-time-limit', '10m', "
        f"'--plan-file', '{problem.with_name('sas_plan')}'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.OUT_OF_TIME, "")
    assert "Time limit has been reached." in done.stdout
    assert not problem.with_name("sas_plan").exists()


def test_a_plan_of_the_asked_length_ends_the_run(problem: Path, model: Path) -> None:
    done = solve_command(problem, model, "--overall-time-limit", "10m", "--stop-at-length", "1000")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The plan is as short as asked for." in done.stdout


def test_an_unsolvable_task_is_proved_so(problem: Path, model: Path) -> None:
    text = "(define (problem p) (:domain blocksworld-4ops) (:objects b1 b2) (:init (arm-empty) (on-table b1) (clear b1)"
    problem.write_text(text + " (on-table b2) (clear b2)) (:goal (and (on b1 b2) (on b2 b1))))")
    done = solve_command(problem, model, "--overall-time-limit", "60s")
    assert done.returncode == ExitCode.UNSOLVABLE
    assert "unsolvable" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_prints_the_best_plan_and_ends_in_success(problem: Path, model: Path, number: int) -> None:
    problem.write_text(blocks(6))
    arguments = (
        "solve",
        problem,
        "--model",
        model,
        "--plan-file",
        problem.with_name("p"),
        "--overall-time-limit",
        "10m",
        "--set",
        "decoding=applicable",
    )
    with subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        seen = ""
        while "Plan length" not in seen:
            seen += process.stdout.readline()
        os.kill(process.pid, number)
        rest = process.stdout.read()
        assert process.wait() == 0
        assert process.stderr.read() == ""
    assert "Solution found!" in rest
    assert problem.with_name("p").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["solve", "a", "b", "c"], ExitCode.BAD_INPUT, "DOMAIN"),
        (["solve", "p.pddl", "--overall-time-limit", "soon"], ExitCode.BAD_INPUT, "duration"),
        (["solve", "p.pddl", "--overall-memory-limit", "lots"], ExitCode.BAD_INPUT, "memory"),
        (["solve", "p.pddl", "--set", "confidence"], ExitCode.BAD_INPUT, "KEY=VALUE"),
        (["shine"], ExitCode.BAD_INPUT, "shine"),
    ],
)
def test_bad_arguments_get_one_line_and_their_code(
    arguments: list[str], code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(arguments) == code
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def test_a_missing_file_gets_one_line_and_code_36(tmp_path: Path) -> None:
    done = subprocess.run(command("solve", tmp_path / "nowhere.pddl"), capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.BAD_INPUT
    assert "nowhere.pddl" in done.stderr and done.stderr.count("\n") == 1
