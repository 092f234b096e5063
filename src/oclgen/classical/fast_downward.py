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
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from oclgen.classical import fd_child
from oclgen.errors import OclgenError, PddlError, UnsupportedError
from oclgen.interfaces import Plan
from oclgen.pddl.plan_file import is_complete, parse_plan
from oclgen.pddl.source import lines, source
from oclgen.search.anytime import Budget, Counters, Ending, Search

PACKAGE = "up_fast_downward"
LOOK_SECONDS = 0.05  # how often limits and plan files are looked at while the child is silent
OUTPUT_TAIL = 1 << 14
PLAN_SAVED = b"Plan length"

LANDMARKS = "landmark_sum(lm_reasonable_orders_hps(lm_rhw()),pref=false)"
BOTH = "[hff,hlm],preferred=[hff,hlm]"
SEARCHES = {  # as the driver's aliases of the same names spell them for unit costs
    "lama-first": f"let(hlm,{LANDMARKS},let(hff,ff(),lazy_greedy({BOTH},reopen_closed=false)))",
    "lama": f"let(hlm,{LANDMARKS},let(hff,ff(),iterated([lazy_greedy({BOTH}),"
    + ",".join(f"lazy_wastar({BOTH},w={weight})" for weight in (5, 3, 2, 1))
    + "],repeat_last=true)))",
    "lmcut": "astar(lmcut())",
}
ENDINGS = {
    10: Ending.EXHAUSTED,
    11: Ending.EXHAUSTED,
    12: Ending.INCOMPLETE,
    20: Ending.MEMORY,
    21: Ending.TIME,
    22: Ending.MEMORY,
    23: Ending.TIME,
    24: Ending.TIME,
    -signal.SIGKILL: Ending.MEMORY,  # not by us: the system ran out of memory
}


def search(
    method: str,
    domain: str | Path,
    problem: str | Path,
    budget: Budget,
    *,
    translate_options: Sequence[str] = (),
    counters: Counters | None = None,
    scratch: Path | None = None,
) -> Search:
    """Yield improving plans; `domain` and `problem` are paths or PDDL texts.

    The private folder is made in `scratch` (default: the system's place for temporary files); only where this
    process is killed it stays behind.
    """
    with tempfile.TemporaryDirectory(prefix="oclgen-", dir=scratch) as name:
        folder = Path(name)
        (folder / "domain.pddl").write_text(without_costs(source(domain, "domain").text))
        (folder / "problem.pddl").write_text(without_costs(source(problem, "problem").text))
        first = "plan.1" if method == "lama" else "plan"
        process = Process(folder / first, start(method, folder, budget.memory_bytes, translate_options))
        try:
            yield from improving(process, budget)
        finally:
            process.kill()
        if counters is not None:
            count(process.output, counters)
        return process.ending or budget.ending or ending(method, process)


def ending(method: str, process: "Process") -> Ending:
    """Why the child ended by itself; raise where it ended because of what it was given."""
    code = process.child.returncode
    if code == 0:
        return Ending.COMPLETED if method == "lama-first" else Ending.EXHAUSTED
    if code in ENDINGS:
        return ENDINGS[code]
    reason = " ".join(process.output.split())[-300:]
    if code in (33, 34) or "(either" in reason:
        raise UnsupportedError(f"Fast Downward does not support the task: {reason}")
    if code == fd_child.TRANSLATE_INPUT_ERROR:
        raise PddlError(f"Fast Downward cannot read the task: {reason}")
    raise OclgenError(f"{method} failed with exit code {code}: {reason}")


@dataclass(slots=True)
class Process:
    """The running child, the file of its next plan, and the tail of what it printed."""

    next_plan: Path
    child: subprocess.Popen[bytes]
    output: str = ""
    ending: Ending | None = None

    def running(self, budget: Budget) -> Iterator[None]:
        """Come back when the child tells of a plan or is silent for long, and once more when it has ended."""
        assert self.child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            while not budget.exhausted():
                if selector.select(LOOK_SECONDS):
                    text = os.read(self.child.stdout.fileno(), 1 << 16)
                    if not text:
                        self.child.wait()
                        break
                    self.output = (self.output + text.decode(errors="replace"))[-OUTPUT_TAIL:]
                    if PLAN_SAVED not in text:
                        continue
                yield
        self.kill()
        yield

    def new_plans(self) -> Iterator[Plan]:
        """Plans whose files are complete by now, in the order they were found."""
        while self.next_plan.exists() and is_complete(text := self.next_plan.read_text()):
            plan = parse_plan(text, self.next_plan.name)
            number = int(self.next_plan.suffix[1:] or 0)
            self.next_plan = self.next_plan.with_suffix(f".{number + 1}")
            yield plan

    def kill(self) -> None:
        """End the whole process group, if it has not ended, and collect it."""
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()


def improving(process: Process, budget: Budget) -> Iterator[Plan]:
    """Each plan shorter than all before it; at the limit the child is killed, and what it had written still counts."""
    best = sys.maxsize
    for _ in process.running(budget):
        for plan in process.new_plans():
            if len(plan) < best:
                best = len(plan)
                yield plan
        if best == 0:  # LAMA would look for something shorter for ever
            process.ending = Ending.EXHAUSTED
            return


def start(method: str, folder: Path, memory: int | None, translate_options: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the child in a session of its own; its output comes through a pipe that closes when it ends."""
    translate = ["domain.pddl", "problem.pddl", *translate_options]
    searching = ["--search", SEARCHES[method], "--internal-plan-file", "plan"]
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
