"""Breadth-first search as a bounded child process: shortest plans, where state spaces are small enough.

pymimir grounds the problem and walks its states in order of depth. Like Fast Downward it is a `Search` that lives in
a process of its own, so that wall-clock and memory limits cover grounding too. It needs no landmarks and no heuristic,
so on Labyrinth, whose translation alone takes Fast Downward seconds, it is the cheaper teacher and the better one.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from oclgen.child import die_with_parent, limit_memory
from oclgen.fast_downward import Process, ending, improving
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.source import source
from oclgen.pddl.task import PddlTask
from oclgen.search.anytime import Budget, Search

METHOD = "bfs"
SOLVED, UNSOLVABLE, OUT_OF_MEMORY = 0, 11, 22
"""Fast Downward's exit codes."""


def search(domain: str | Path, problem: str | Path, budget: Budget, *, scratch: Path | None = None) -> Search:
    """Yield a shortest plan; `domain` and `problem` are paths or PDDL texts."""
    with tempfile.TemporaryDirectory(prefix="oclgen-", dir=scratch) as name:
        folder = Path(name)
        (folder / "domain.pddl").write_text(source(domain, "domain").text)
        (folder / "problem.pddl").write_text(source(problem, "problem").text)
        process = Process(folder / "plan", start(folder, budget.memory_bytes or 0))
        try:
            yield from improving(process, budget)
        finally:
            process.kill()
        return process.ending or budget.ending or ending(METHOD, process)


def start(folder: Path, memory: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "oclgen.breadth_first", str(os.getpid()), str(memory)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def main(parent: str, memory: str) -> int:
    die_with_parent(int(parent))
    limit_memory(int(memory))
    try:
        plan = PddlTask(Path("domain.pddl"), Path("problem.pddl")).shortest_plan()
    except MemoryError:
        return OUT_OF_MEMORY
    if plan is None:
        return UNSOLVABLE
    Path("plan").write_text(format_plan(plan))
    return SOLVED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
