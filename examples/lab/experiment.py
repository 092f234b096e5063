#! /usr/bin/env python
"""oclgen beside Fast Downward's LAMA in a lab experiment, with lab's own parsers and report.

    python experiment.py BENCHMARKS --all          build, run, parse, fetch, report
    python experiment.py BENCHMARKS build          one step; `python experiment.py BENCHMARKS` lists the steps

BENCHMARKS has a folder for each domain, with `domain.pddl` and problems. On a cluster replace `LocalEnvironment` by
lab's `SlurmEnvironment`. Options in the environment: TIME_LIMIT (seconds, default 30), MEMORY_LIMIT (MB), PROCESSES.
"""

import importlib.util
import os
import sys
from pathlib import Path

from downward import suites
from downward.parsers.anytime_search_parser import AnytimeSearchParser
from downward.parsers.exitcode_parser import ExitcodeParser
from downward.parsers.planner_parser import PlannerParser
from downward.reports.absolute import AbsoluteReport
from lab.environments import LocalEnvironment
from lab.experiment import Experiment, Run

TIME_LIMIT = int(os.environ.get("TIME_LIMIT", "30"))
MEMORY_LIMIT = int(os.environ.get("MEMORY_LIMIT", "4000"))
GRACE = 10
"""lab's own limits count processor time and are only a safety net: both planners keep the limit by themselves."""


def fast_downward_driver() -> str:
    """The driver that the package up-fast-downward brings (`pip install 'oclgen[teach]'`)."""
    spec = importlib.util.find_spec("up_fast_downward")
    assert spec is not None and spec.origin is not None, "pip install 'oclgen[teach]'"
    return str(Path(spec.origin).parent / "downward" / "fast-downward.py")


LIMITS = ["--overall-time-limit", f"{TIME_LIMIT}s", "--overall-memory-limit", f"{MEMORY_LIMIT}M"]
ALGORITHMS = {
    "oclgen": [sys.executable, "-m", "oclgen", "solve", "--threads", "1", *LIMITS, "{domain}", "{problem}"],
    "lama": [sys.executable, fast_downward_driver(), "--alias", "lama", *LIMITS, "{domain}", "{problem}"],
}


def add_runs(experiment: Experiment, benchmarks: Path) -> None:
    domains = sorted(path.parent.name for path in benchmarks.glob("*/domain.pddl"))
    for task in suites.build_suite(benchmarks, domains):
        for algorithm, command in ALGORITHMS.items():
            run: Run = experiment.add_run()
            run.add_resource("domain", task.domain_file, "domain.pddl", symlink=True)
            run.add_resource("problem", task.problem_file, "problem.pddl", symlink=True)
            run.add_command("planner", command, time_limit=2 * TIME_LIMIT + GRACE, memory_limit=2 * MEMORY_LIMIT)
            for key in ("domain", "problem"):
                run.set_property(key, getattr(task, key))
            run.set_property("algorithm", algorithm)
            run.set_property("id", [algorithm, task.domain, task.problem])


def main() -> None:
    benchmarks = Path(sys.argv.pop(1)).resolve()
    experiment = Experiment(environment=LocalEnvironment(processes=int(os.environ.get("PROCESSES", "2"))))
    add_runs(experiment, benchmarks)
    experiment.add_parser(ExitcodeParser())
    experiment.add_parser(AnytimeSearchParser())
    experiment.add_parser(PlannerParser())
    experiment.add_step("build", experiment.build)
    experiment.add_step("start", experiment.start_runs)
    experiment.add_step("parse", experiment.parse)
    experiment.add_fetcher(name="fetch")
    attributes = ["coverage", "cost", "error", "memory", "planner_wall_clock_time"]
    experiment.add_report(AbsoluteReport(attributes=attributes), outfile="report.html")
    experiment.run_steps()


if __name__ == "__main__":
    main()
