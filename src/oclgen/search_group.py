"""Several searches of one problem that share their best plan and promising states: one in this process, the others in
children.

The children (`search_member.py`) get the problem and then what the others found on standard input, one JSON object a
line, and answer with their own plans, states and counters on standard output. A thread starts them, once the search
here has a plan or has been looking for one for a while, and passes on what comes. The search itself only posts and
takes (`search/extensions/exchange.py`), so it never waits for a child, and the loss of one is a line in the log. A
child that has searched everything ends the search here, too: its plan is optimal, or there is none.
"""

import json
import logging
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event as Flag
from threading import Lock, Thread
from typing import Any

import psutil

import oclgen
from oclgen.interfaces import Plan
from oclgen.search.anytime import Budget, Counters, Ending
from oclgen.search.extensions.exchange import Exchange, SharedState

START_SECONDS = 0.5
"""The children start this long after the search here, or soon after its first plan."""
PROOF_SECONDS = 0.1
"""How long they wait then: a small problem ends by proof."""
EARLIER_SECONDS = 0.1
"""Children end this long before the time limit, so that their last plans and counters arrive."""
MOST_WAITING = 8
"""Messages to a child that it has not read. Then no states are sent to it; plans always are."""
LEAST_MEMORY = 384 << 20
"""For each search; with less there are fewer searches."""
ADDRESS_SPACE_RESERVE = 2 << 30
"""Virtual memory beyond the share of a child: libraries map far more than they use."""
EXIT_SECONDS = 2.0
USUAL = {ending.value for ending in Ending}
"""Endings that are no loss. One that is out of memory leaves its share to the others."""

log = logging.getLogger(__name__)

Line = bytes
Event = tuple[int, Plan | Line | None]
"""The number of a search with its plan, with a line that holds states, or with None when it has ended."""


def affordable_searches(searches: int, memory: int | None) -> int:
    """As many as were asked for, or as the memory has room for."""
    return max(1, min(searches, usable_memory(memory) // LEAST_MEMORY))


def usable_memory(limit: int | None) -> int:
    """The limit, or without one what the machine has free."""
    return psutil.virtual_memory().available if limit is None else limit


def member_seed(seed: int, number: int) -> int:
    """The seed of another search; 0 is the search here."""
    return random.Random(f"search {number} of seed {seed}").getrandbits(62)


class Member:
    """One child: its process, what it has counted and why it ended, as far as it has told."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.counters: Mapping[str, int] = {}
        self.ending: str | None = None
        self.gone = Flag()
        self._unsent: SimpleQueue[Line | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def start(self, *listen: Callable[[], None]) -> None:
        """Begin to write and to read, each in a thread: a child that reads nothing keeps nobody waiting."""
        self._threads = [Thread(target=work, daemon=True) for work in (self._write, *listen)]
        for thread in self._threads:
            thread.start()

    def send(self, line: Line, droppable: bool = False) -> None:
        if not droppable or self._unsent.qsize() < MOST_WAITING:
            self._unsent.put(line)

    def _write(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it has ended: the reader sees that, too
            while (line := self._unsent.get()) is not None:
                self.process.stdin.write(line)
                self.process.stdin.flush()

    def collect(self) -> None:
        """Wait for its end, which is near, and close what led to it."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(EXIT_SECONDS)
        self.process.kill()
        self.process.wait()
        self._unsent.put(None)
        for thread in self._threads:
            thread.join()
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
        self.exchange = Exchange(self._send_plan, self._send_states)
        self._job, self._seed, self._searches, self._budget = job, seed, searches, budget
        self._share = usable_memory(budget.memory_bytes) // searches
        self._members: dict[int, Member] = {}
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._found, self._stopped = Flag(), Flag()
        self._lock = Lock()
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._budget.make_room = self.make_room
        self._thread.start()

    def stop(self) -> None:
        """End the children."""
        self._stopped.set()
        self._found.set()
        self._events.put(None)
        with self._lock:
            for member in self._members.values():
                member.process.kill()
        self._thread.join()

    def make_room(self) -> bool:
        """End one child, so that its memory is ours; false if none is left."""
        with self._lock:
            member = next((each for each in reversed(self._members.values()) if not each.gone.is_set()), None)
        if member is None:
            return False
        member.ending = Ending.MEMORY.value
        member.process.kill()
        member.gone.wait()
        return True

    def counted(self) -> Iterator[Mapping[str, int]]:
        """What each child has done, as it last told."""
        return (member.counters for member in self._members.values())

    def _send_plan(self, plan: Plan) -> None:
        self._found.set()
        self._events.put((0, plan))

    def _send_states(self, states: list[SharedState]) -> None:
        self._events.put((0, encoded({"states": states})))

    def _run(self) -> None:
        """The children are tied to this thread: it outlives them."""
        self._found.wait(START_SECONDS)
        if self._stopped.wait(PROOF_SECONDS):
            return
        for number in range(1, self._searches):
            self._start_member(number)
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
                member = self._members[number] = Member(start_process(self._share))
            except OSError as error:
                log.warning("search %d of %d did not start: %s", number + 1, self._searches, error)
                return
            if self._budget.memory_bytes is not None:
                self._budget.memory_bytes -= self._share
        member.send(encoded(self._request(number)))
        member.start(partial(self._listen, number, member))

    def _listen(self, number: int, member: Member) -> None:
        """Read what a child says until it ends."""
        assert member.process.stdout is not None
        for line in member.process.stdout:
            with suppress(ValueError):  # half a line: it was killed
                self._hear(number, member, line)
        self._events.put((number, None))

    def _hear(self, number: int, member: Member, line: Line) -> None:
        message = json.loads(line)
        member.counters = message.get("counters", member.counters)
        plan = as_plan(message.get("plan", ()))
        if plan and self.exchange.receive(plan):
            self._events.put((number, plan))
        if "states" in message:
            self.exchange.receive_states(as_states(message["states"]))
            self._events.put((number, line))
        if "ending" in message:
            member.ending = message["ending"]
            if member.ending == Ending.EXHAUSTED.value:
                self._budget.end(Ending.EXHAUSTED)

    def _handle(self, source: int, found: Plan | Line | None) -> None:
        if found is None:
            self._collect(source)
            return
        if not isinstance(found, bytes) and len(found) != self.exchange.length:  # a shorter one is on its way
            return
        line = found if isinstance(found, bytes) else encoded({"plan": found})
        for number, member in self._members.items():
            if number != source and not member.gone.is_set():
                member.send(line, droppable=line is found)

    def _collect(self, number: int) -> None:
        """A child has ended: its share of the memory is ours again."""
        member = self._members[number]
        if member.gone.is_set():
            return
        member.collect()
        if self._budget.memory_bytes is not None:
            self._budget.memory_bytes += self._share
        member.gone.set()
        if not self._stopped.is_set() and (loss := member.loss()) is not None:
            log.warning("search %d of %d ended early: %s", number + 1, self._searches, loss)


def encoded(message: Mapping[str, Any]) -> Line:
    return json.dumps(message).encode() + b"\n"


def as_plan(actions: Iterable[Iterable[str]]) -> Plan:
    return tuple(tuple(action) for action in actions)


def as_states(states: Iterable[tuple[float, Iterable[Iterable[str]]]]) -> list[SharedState]:
    return [SharedState(h, as_plan(path)) for h, path in states]


def start_process(memory: int) -> subprocess.Popen[bytes]:
    source = str(Path(oclgen.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "oclgen.search_member", str(os.getpid()), str(memory + ADDRESS_SPACE_RESERVE)],
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
