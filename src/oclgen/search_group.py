"""Several searches of one problem that share their best plan: one in this process, the others in children.

The children (`search_member.py`) get the problem and then the plans of the others on standard input, one JSON object a
line, and answer with their own plans and counters on standard output. A thread starts them, once the search here has
a plan or has been looking for one for a while, and passes plans on. The search itself only posts and takes
(`search/exchange.py`), so it never waits for a child, and the loss of one is a line in the log.
"""

import json
import logging
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

import oclgen
from oclgen.interfaces import Plan
from oclgen.search.anytime import Budget, Counters, Ending
from oclgen.search.extensions.exchange import Exchange

START_SECONDS = 0.5
"""The children start this long after the search here, or soon after its first plan."""
PROOF_SECONDS = 0.1
"""How long they wait then: a small problem ends by proof."""
EARLIER_SECONDS = 0.1
"""Children end this long before the time limit, so that their last plans and counters arrive."""
LEAST_MEMORY = 384 << 20
"""For each search; with less there are fewer searches."""
ADDRESS_SPACE_RESERVE = 2 << 30
"""Virtual memory beyond the share of a child: libraries map far more than they use."""
EXIT_SECONDS = 2.0
USUAL = {ending.value for ending in Ending} - {Ending.MEMORY.value}
"""Endings that are no loss."""

log = logging.getLogger(__name__)


def affordable_searches(searches: int, memory: int | None) -> int:
    """As many as were asked for, or as the memory limit has room for."""
    return searches if memory is None else max(1, min(searches, memory // LEAST_MEMORY))


def member_seed(seed: int, number: int) -> int:
    """The seed of another search; 0 is the search here."""
    return random.Random(f"search {number} of seed {seed}").getrandbits(62)


@dataclass(slots=True)
class Member:
    """One child: its process, what it has counted and why it ended, as far as it has told."""

    process: subprocess.Popen[bytes]
    counters: Mapping[str, int] = field(default_factory=dict)
    ending: str | None = None
    reader: Thread | None = None
    collected: bool = False

    def write(self, message: object) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it has ended: the reader sees that, too
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def collect(self) -> None:
        """Wait for its end, which is near, and close what led to it."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(EXIT_SECONDS)
        self.process.kill()
        self.process.wait()
        if self.reader is not None:
            self.reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not sent any more
                    pipe.close()

    def loss(self) -> str | None:
        """Why it ended, if that was not as it should be."""
        if self.ending is None:
            return f"exit code {self.process.returncode}"
        return None if self.ending in USUAL else self.ending


class SearchGroup:
    """The children of one search and the thread that listens to them."""

    def __init__(self, job: Mapping[str, Any], seed: int, searches: int, budget: Budget) -> None:
        self.exchange = Exchange(self._send)
        self._job, self._seed, self._searches, self._budget = job, seed, searches, budget
        self._share = None if budget.memory_bytes is None else budget.memory_bytes // searches
        self._members: dict[int, Member] = {}
        self._events: SimpleQueue[tuple[int, Plan | None] | None] = SimpleQueue()
        self._found, self._stopped = Event(), Event()
        self._lock = Lock()
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._budget.make_room = self.stop
        self._thread.start()

    def stop(self) -> None:
        """End the children; their memory is ours again."""
        self._stopped.set()
        self._found.set()
        self._events.put(None)
        with self._lock:
            for member in self._members.values():
                member.process.kill()
        self._thread.join()

    def counted(self) -> Iterator[Mapping[str, int]]:
        """What each child has done, as it last told."""
        return (member.counters for member in self._members.values())

    def _send(self, plan: Plan) -> None:
        self._found.set()
        self._events.put((0, plan))

    def _run(self) -> None:
        """The children are tied to this thread: it outlives them."""
        self._found.wait(START_SECONDS)
        if self._stopped.wait(PROOF_SECONDS):
            return
        for number in range(1, self._searches):
            self._start_member(number)
        for number, member in self._members.items():
            member.write(self._request(number))
            member.reader = Thread(target=self._listen, args=(number, member), daemon=True)
            member.reader.start()
        while (event := self._events.get()) is not None:
            self._handle(*event)
        for number in self._members:
            self._collect(number)

    def _request(self, number: int) -> dict[str, Any]:
        seconds = self._budget.seconds
        return {
            **self._job,
            "seed": member_seed(self._seed, number),
            "iterations": self._budget.iterations,
            "seconds": None if seconds is None else max(0.0, seconds - EARLIER_SECONDS),
            "started": self._budget.started,  # the clock is the same for all processes of the machine
            "memory": self._share,
        }

    def _start_member(self, number: int) -> None:
        with self._lock:
            if self._stopped.is_set():
                return
            try:
                self._members[number] = Member(start_process(self._share))
            except OSError as error:
                log.warning("search %d of %d did not start: %s", number + 1, self._searches, error)
                return
            if self._budget.memory_bytes is not None and self._share is not None:
                self._budget.memory_bytes -= self._share

    def _listen(self, number: int, member: Member) -> None:
        """Read what a child says until it ends."""
        assert member.process.stdout is not None
        for line in member.process.stdout:
            with suppress(ValueError):  # half a line: it was killed
                message = json.loads(line)
                member.counters = message.get("counters", member.counters)
                member.ending = message.get("ending", member.ending)
                plan = tuple(tuple(action) for action in message.get("plan", ()))
                if plan and self.exchange.receive(plan):
                    self._events.put((number, plan))
        self._events.put((number, None))

    def _handle(self, source: int, plan: Plan | None) -> None:
        if plan is None:
            self._collect(source)
        elif len(plan) == self.exchange.length:  # else a shorter one is on its way
            for number, member in self._members.items():
                if number != source and not member.collected:
                    member.write({"plan": plan})

    def _collect(self, number: int) -> None:
        """A child has ended: its share of the memory is ours again."""
        member = self._members[number]
        if member.collected:
            return
        member.collected = True
        member.collect()
        if self._budget.memory_bytes is not None and self._share is not None:
            self._budget.memory_bytes += self._share
        if not self._stopped.is_set() and (loss := member.loss()) is not None:
            log.warning("search %d of %d ended early: %s", number + 1, self._searches, loss)


def start_process(memory: int | None) -> subprocess.Popen[bytes]:
    source = str(Path(oclgen.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    limit = 0 if memory is None else memory + ADDRESS_SPACE_RESERVE
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "oclgen.search_member", str(os.getpid()), str(limit)],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def searching_together(
    job: Mapping[str, Any], seed: int, searches: int, budget: Budget, counters: Counters
) -> Iterator[Exchange]:
    """Other searches run beside the one in this context; what they did is added to `counters` at the end."""
    group = SearchGroup(job, seed, searches, budget)
    group.start()
    try:
        yield group.exchange
    finally:
        group.stop()
        budget.make_room = None
        for counted in group.counted():
            counters.add(counted)
