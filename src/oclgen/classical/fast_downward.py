"""Fast Downward as a bounded child process: LAMA-first, anytime LAMA, and A* with LM-cut.

Each is a `Search` like our own: it yields every plan that is shorter than the one before, as soon as its file
is complete, and returns why it ended. Wall-clock and memory limits cover translation and search; whatever
happens (limit, closed generator, dead parent) no process and no file stays behind. The objective is plan
length, so costs are taken out of a private copy of the problem before Fast Downward sees it.

Paper: Section 5 (LAMA-first is the teacher, LAMA and LM-cut are the baselines).
"""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oclgen.classical import fd_child
from oclgen.classical.process import Process, ending, improving, no_space
from oclgen.pddl.reading.source import lines, source
from oclgen.search.anytime import Budget, Counters, Ending, Search

PACKAGE = "up_fast_downward"
LANDMARKS = "landmark_sum(lm_reasonable_orders_hps(lm_rhw()),pref=false)"
BOTH = "[hff,hlm],preferred=[hff,hlm]"
LAMA_FIRST = f"let(hlm,{LANDMARKS},let(hff,ff(),lazy_greedy({BOTH},reopen_closed=false)))"
LAMA = (
    f"let(hlm,{LANDMARKS},let(hff,ff(),iterated([lazy_greedy({BOTH}),"
    + ",".join(f"lazy_wastar({BOTH},w={weight})" for weight in (5, 3, 2, 1))
    + "],repeat_last=true)))"
)
LMCUT = "astar(lmcut())"
"""As the driver's aliases of the same names spell them for unit costs."""


@dataclass(frozen=True, slots=True)
class FastDownward:
    """One of Fast Downward's searches, as its `--search` option spells it."""

    name: str
    search: str
    anytime: bool = False
    optimal: bool = False
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
        """Yield improving plans; `ClassicalPlanner.plans` explains the arguments."""
        with tempfile.TemporaryDirectory(prefix="oclgen-", dir=scratch) as name:
            folder = Path(name)
            (folder / "domain.pddl").write_text(without_costs(source(domain, "domain").text))
            (folder / "problem.pddl").write_text(without_costs(source(problem, "problem").text))
            first = "plan.1" if self.anytime else "plan"
            process = Process(folder / first, start(self.search, folder, budget.memory_bytes, translate_options))
            try:
                yield from improving(process, budget)
            finally:
                process.kill()
            if counters is not None:
                count(process.output, counters)
            if budget.ending is None and process.child.returncode == 0 and process.next_plan == folder / first:
                raise no_space(self.name)  # the search says that it has a plan, and does not see that it is not written
            finished = Ending.EXHAUSTED if self.anytime or self.optimal else Ending.COMPLETED
            return process.ending or budget.ending or ending(self.name, process, finished)


def start(search: str, folder: Path, memory: int | None, translate_options: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the child in a session of its own; its output comes through a pipe that closes when it ends."""
    translate = ["domain.pddl", "problem.pddl", *translate_options]
    searching = ["--search", search, "--internal-plan-file", "plan"]
    command = [sys.executable, "-S", "-P", fd_child.__file__, str(os.getpid()), str(memory or 0), str(build_folder())]
    return subprocess.Popen(
        [*command, "output.sas", *translate, "--", *searching],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "0"},  # the translator walks over sets of names: same problem, same plan
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def build_folder() -> Path:
    """Where the translator and the search binary are. (Importing the package would need Unified Planning.)"""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    return Path(spec.origin).parent / "downward" / "builds" / "release" / "bin"


def is_installed() -> bool:
    """Whether translator and search binary are there (the `teach` extra brings them)."""
    spec = importlib.util.find_spec(PACKAGE)
    return spec is not None and spec.origin is not None


def version() -> str:
    return importlib.metadata.version("fast-downward.translate")


def without_costs(text: str) -> str:
    """A copy in which every action costs 1 and nothing numeric is left.

    Fast Downward refuses `:numeric-fluents` by name, and LAMA searches differently where costs are not 1.
    """
    text = "\n".join(lines(text))
    text = re.sub(r":(numeric-fluents|fluents|action-costs)\b", "", text)
    for head, instead in ((r"\(:metric\b", ""), (r"\(:functions\b", ""), (r"\(increase\b", "(and)"), (r"\(=\s*\(", "")):
        text = replace_groups(text, head, instead)
    return text


def replace_groups(text: str, head: str, instead: str) -> str:
    """Replace each parenthesised group that begins with the pattern `head`."""
    parts = []
    position = 0
    for match in re.finditer(head, text):
        if match.start() >= position:
            parts += [text[position : match.start()], instead]
            position = group_end(text, match.start())
    return "".join([*parts, text[position:]])


def group_end(text: str, start: int) -> int:
    depth = 0
    for match in re.compile(r"[()]").finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(text)


def count(output: str, counters: Counters) -> None:
    """Take over the last of each statistics line, if the child got that far."""
    for name in ("expanded", "generated", "reopened", "evaluated"):
        numbers = re.findall(rf"{name.capitalize()} (\d+) state", output)
        if numbers:
            setattr(counters, name, int(numbers[-1]))
