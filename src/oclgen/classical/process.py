"""A planner in a child process: its plan files, its output, its limits, and why it ended."""

import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from oclgen.classical.fd_child import TRANSLATE_INPUT_ERROR
from oclgen.errors import OclgenError, PddlError, UnsupportedError
from oclgen.interfaces import Plan
from oclgen.pddl.plan_file import is_complete, parse_plan
from oclgen.search.anytime import Budget, Ending
from oclgen.support.processes import KILLED, kill_tree

LOOK_SECONDS = 0.05
"""How often limits and plan files are checked while the child is silent."""
OUTPUT_TAIL = 1 << 14
PLAN_SAVED = b"Plan length"
NO_SPACE = os.strerror(errno.ENOSPC)

ENDINGS = {
    10: Ending.EXHAUSTED,
    11: Ending.EXHAUSTED,
    12: Ending.INCOMPLETE,
    20: Ending.MEMORY,
    21: Ending.TIME,
    22: Ending.MEMORY,
    23: Ending.TIME,
    24: Ending.TIME,
    KILLED: Ending.MEMORY,  # not by us: the system ran out of memory
}


@dataclass(slots=True)
class Process:
    """The running child, the file of its next plan, and the tail of what it printed."""

    next_plan: Path
    child: subprocess.Popen[bytes]
    output: str = ""
    ending: Ending | None = None
    reader: Thread | None = None

    def running(self, budget: Budget) -> Iterator[None]:
        """Yield when the child reports a plan or has been silent for a while, and once more when it has ended."""
        printed: SimpleQueue[bytes] = SimpleQueue()
        self.reader = Thread(target=self._read, args=(printed,), daemon=True)
        self.reader.start()
        while not budget.exhausted():
            try:
                text = printed.get(timeout=LOOK_SECONDS)
            except Empty:
                yield
                continue
            if not text:
                self.child.wait()
                break
            self.output = (self.output + text.decode(errors="replace"))[-OUTPUT_TAIL:]
            if PLAN_SAVED in text:
                yield
        self.kill()
        yield

    def _read(self, printed: "SimpleQueue[bytes]") -> None:
        """Hand on what the child prints, then an empty text. (Windows cannot wait for a pipe with a time limit.)"""
        assert self.child.stdout is not None
        while text := os.read(self.child.stdout.fileno(), 1 << 16):
            printed.put(text)
        printed.put(b"")

    def new_plans(self) -> Iterator[Plan]:
        """Plans whose files are complete by now, in the order they were found."""
        while self.next_plan.exists() and is_complete(text := self.next_plan.read_text()):
            plan = parse_plan(text, self.next_plan.name)
            number = int(self.next_plan.suffix[1:] or 0)
            self.next_plan = self.next_plan.with_suffix(f".{number + 1}")
            yield plan

    def kill(self) -> None:
        """End the whole process group, if it has not ended, and collect it."""
        kill_tree(self.child)
        if self.reader is not None and self.reader.ident is not None:  # a signal may come before it has started
            self.reader.join()
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


def ending(name: str, process: Process, finished: Ending) -> Ending:
    """Why the child of planner `name` ended by itself; raise where it failed. `finished` is what success means."""
    code = process.child.returncode
    if NO_SPACE in process.output:
        raise no_space(name)
    if code == 0:
        return finished
    if code in ENDINGS:
        return ENDINGS[code]
    if missing := re.search(r"This configuration does not support ([\w ]+)!", process.output):
        raise UnsupportedError(f"{name} does not support {missing[1]}, which this problem needs; lama and bfs do")
    reason = " ".join(process.output.split())[-300:]
    if code in (33, 34) or "(either" in reason:
        raise UnsupportedError(f"Fast Downward does not support the task: {reason}")
    if code == TRANSLATE_INPUT_ERROR:
        raise PddlError(f"Fast Downward cannot read the task: {reason}")
    raise OclgenError(f"{name} failed with exit code {code}: {reason}")


def no_space(name: str) -> OSError:
    """A full disk is no fault of the problem, so it must not count as one that the planner failed on."""
    return OSError(errno.ENOSPC, NO_SPACE, f"files of {name}")
