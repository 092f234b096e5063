"""Standard output as three programs read it: VS Code's PDDL extension, lab, and Unified Planning."""

import json
import queue
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from oclgen import output
from oclgen.domains import catalog
from oclgen.interfaces import Plan
from oclgen.pddl.plan_file import read_plan
from oclgen.search.anytime import Counters

SPEC = catalog.load("blocksworld")
ONE_MIB = 1 << 20
EXTENSION = "pddl-workspace@11.3.0"
READ_PLANS = """
const { parser, DomainInfo, ProblemInfo } = require('pddl-workspace');
const { URI } = require('vscode-uri');
const output = require('fs').readFileSync(0, 'utf8');
const plan = parser.PddlPlannerOutputParser.parseOnePlan(output, URI.parse('file:///plan'), 0.001);
console.log(JSON.stringify({
  steps: plan.steps.map(step => [step.getStartTime(), step.getFullActionName()]), metric: plan.metric }));
"""


@dataclass(frozen=True)
class Solved:
    stdout: str
    plan: Plan
    problem: str
    folder: Path


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Solved:
    """A run that improves its plan at least once where the machine lets it, and proves the last one optimal."""
    folder = tmp_path_factory.mktemp("run")
    problem = catalog.draw(SPEC, 3, 1, catalog.overrides(SPEC, ["blocks=4"])).text
    (folder / "domain.pddl").write_text(SPEC.domain_text)
    (folder / "problem.pddl").write_text(problem)
    command = [sys.executable, "-m", "oclgen", "solve", "problem.pddl", "--overall-time-limit", "60s"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert not done.stderr
    return Solved(done.stdout, read_plan(folder / "sas_plan"), problem, folder)


@pytest.fixture(scope="module")
def extension(request: pytest.FixtureRequest) -> Path:
    """The parser of VS Code's extension, from npm, kept between test runs."""
    npm, cache = shutil.which("npm"), request.config.cache
    if npm is None or cache is None:
        pytest.skip("npm is not installed, so the extension's parser cannot be fetched")
    folder = cache.mkdir(EXTENSION.replace("@", "-"))
    if not (folder / "node_modules" / "pddl-workspace").is_dir():
        command = [npm, "install", "--no-audit", "--no-fund", "--fetch-retries", "1", "--fetch-timeout", "20000"]
        command += ["--prefix", str(folder), EXTENSION]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip(f"npm cannot fetch {EXTENSION} (no network?)")
    return folder


def test_the_extension_of_vs_code_reads_the_best_plan_and_its_length(solved: Solved, extension: Path) -> None:
    node = shutil.which("node")
    assert node is not None
    command = [node, "-e", READ_PLANS]
    done = subprocess.run(command, cwd=extension, input=solved.stdout, capture_output=True, text=True, check=True)
    read = json.loads(done.stdout)
    assert read["steps"] == [[number, " ".join(action)] for number, action in enumerate(solved.plan)]
    assert read["metric"] == len(solved.plan)


def test_the_parsers_of_lab_read_coverage_cost_and_statistics(solved: Solved) -> None:
    pytest.importorskip("lab", reason="lab is not installed")
    from downward.parsers.anytime_search_parser import AnytimeSearchParser
    from downward.parsers.exitcode_parser import ExitcodeParser
    from downward.parsers.planner_parser import PlannerParser
    from lab.tools import Properties

    log = "planner exit code: 0\nnode: here\nplanner wall-clock time: 1.00s\n"
    (solved.folder / "driver.log").write_text(log)
    (solved.folder / "run.log").write_text(solved.stdout)
    properties = Properties()
    for parser in (ExitcodeParser(), AnytimeSearchParser(), PlannerParser()):
        parser.parse(solved.folder, properties)
    assert properties["error"] == "success"
    assert properties["coverage"] == 1
    assert properties["cost"] == properties["steps"] == len(solved.plan)
    assert properties["cost:all"] == properties["steps:all"]
    assert properties["memory"] > 0
    assert properties["planner_time_limit"] == 60
    assert "unexplained_errors" not in properties


def test_the_fast_downward_parser_of_unified_planning_reads_the_plan(solved: Solved) -> None:
    pytest.importorskip("unified_planning", reason="needs the extra `up`")
    pytest.importorskip("up_fast_downward", reason="needs the extra `teach`")
    from unified_planning.engines.pddl_anytime_planner import Writer
    from unified_planning.io import PDDLReader, PDDLWriter
    from up_fast_downward import FastDownwardPDDLPlanner

    problem = PDDLReader().parse_problem_string(SPEC.domain_text, solved.problem)
    engine = FastDownwardPDDLPlanner()
    engine._writer = PDDLWriter(problem)
    engine._writer.get_domain()
    engine._writer.get_problem()
    results: queue.Queue[object] = queue.Queue()
    engine._parse_planner_output(Writer(None, results, engine, problem), solved.stdout)
    plans = [result.plan for result in results.queue]
    assert [str(step) for step in plans[-1].actions] == [
        f"{action[0]}({', '.join(action[1:])})" if action[1:] else action[0] for action in solved.plan
    ]
    assert len(plans) == 1


@pytest.mark.parametrize("steps", [10, 20_000, 200_000])
def test_standard_output_stays_below_one_mebibyte_whatever_the_plan(steps: int) -> None:
    plan: Plan = (("move-the-package", "package-17", "city-4-location-2", "city-9-location-1"),) * steps
    lines = [*output.limits_lines(10, 1 << 32), *output.plan_lines(plan), *output.editor_lines(plan)]
    lines += output.statistics_lines(Counters(), 1e6, 1e6)
    lines += [output.improvement_lines(1e6, plan)] * output.MOST_IMPROVEMENTS
    assert len("\n".join(lines).encode()) < ONE_MIB
    assert f"Plan length: {steps} step(s)." in lines


def test_a_plan_too_long_to_print_is_left_to_the_plan_file() -> None:
    plan: Plan = (("act", "x" * 100),) * 10_000
    assert output.editor_lines(plan) == []
    assert output.plan_lines(plan)[0] == "Solution found!"
