"""Breadth-first search as a bounded child process: shortest plans, where state spaces are small enough.

pymimir grounds the problem and walks its states in order of depth. Like Fast Downward it is a `Search` that lives in
a process of its own, so that wall-clock and memory limits cover grounding too. It needs no landmarks and no heuristic,
so on Labyrinth, whose translation alone takes Fast Downward seconds, it is the cheaper teacher and the better one.
Once a problem is grounded, plans from its other states cost little more: `plans_from`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oclgen.classical.process import Process, ending, improving
from oclgen.interfaces import Plan
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.reading.source import source
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.support.processes import die_with_parent, limit_memory

if TYPE_CHECKING:
    from oclgen.pddl.task import PddlTask

METHOD = "bfs"
STARTS, PLANS = "starts.json", "plans.jsonl"
SOLVED, UNSOLVABLE, OUT_OF_MEMORY = 0, 11, 22
"""Fast Downward's exit codes."""


@dataclass(frozen=True, slots=True)
class BreadthFirst:
    """Breadth-first search: one plan, which is a shortest one."""

    name: str = METHOD
    anytime: bool = False
    optimal: bool = True
    teaches: bool = True

    def plans(
        self,
        domain: str | Path,
        problem: str | Path,
        budget: Budget,
        *,
        translate_options: Sequence[str] = (),
        counters: Counters | None = None,
        scratch: Path | None = None,
    ) -> Search:
        """Yield a shortest plan; nothing is translated and nothing counted."""
        del translate_options, counters
        with child(domain, problem, budget, scratch) as process:
            yield from improving(process, budget)
        return process.ending or budget.ending or ending(self.name, process, Ending.EXHAUSTED)


def plans_from(domain: str, problem: str, starts: Sequence[Plan], seconds: float, budget: Budget) -> list[Plan | None]:
    """A shortest plan from each of the states that these actions lead to, or None where there is none or its search
    took more than `seconds`."""
    given = json.dumps({"starts": starts, "seconds": seconds})
    with child(domain, problem, budget, given=given) as process:
        for _ in process.running(budget):
            pass
        made = process.next_plan.with_name(PLANS)
        whole_lines = made.read_text().split("\n")[:-1] if made.exists() else []
    if budget.ending is None:
        ending(METHOD, process, Ending.EXHAUSTED)  # raises if the child failed
    plans = [None if plan is None else tuple(map(tuple, plan)) for plan in map(json.loads, whole_lines)]
    return [*plans, *[None] * (len(starts) - len(plans))]


@contextmanager
def child(
    domain: str | Path, problem: str | Path, budget: Budget, scratch: Path | None = None, given: str = ""
) -> Iterator[Process]:
    """The running child in a folder of its own; neither outlives the context."""
    with tempfile.TemporaryDirectory(prefix="oclgen-", dir=scratch) as name:
        folder = Path(name)
        (folder / "domain.pddl").write_text(source(domain, "domain").text)
        (folder / "problem.pddl").write_text(source(problem, "problem").text)
        (folder / STARTS).write_text(given)
        process = Process(folder / "plan", start(folder, budget.memory_bytes or 0))
        try:
            yield process
        finally:
            process.kill()


def start(folder: Path, memory: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "oclgen.classical.breadth_first", str(os.getpid()), str(memory)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def main(parent: str, memory: str) -> int:
    from oclgen.pddl.task import PddlTask  # only the child needs pymimir

    die_with_parent(int(parent))
    limit_memory(int(memory))
    given = Path(STARTS).read_text()
    try:
        task = PddlTask(Path("domain.pddl"), Path("problem.pddl"))
        return write_plans(task, **json.loads(given)) if given else write_plan(task)
    except MemoryError:
        return OUT_OF_MEMORY


def write_plan(task: "PddlTask") -> int:
    plan = task.shortest_plan()
    if plan is None:
        return UNSOLVABLE
    Path("plan").write_text(format_plan(plan))
    return SOLVED


def write_plans(task: "PddlTask", starts: list[list[list[str]]], seconds: float) -> int:
    """A line for each start, as soon as it is known."""
    with Path(PLANS).open("w", buffering=1) as file:
        for plan in task.shortest_plans((tuple(map(tuple, start)) for start in starts), seconds):
            file.write(json.dumps(plan) + "\n")
    return SOLVED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
