"""What several searches of one problem share: each posts its plans and states and takes those of the others (ours)."""

from collections.abc import Callable, Iterable
from heapq import nsmallest
from threading import Lock
from typing import NamedTuple

from oclgen.interfaces import Plan

MOST_STATES = 4
"""States that a search posts, or takes, at a time: a receiver replays the actions of each."""


class SharedState(NamedTuple):
    """A state as others can reach it: the actions from the initial state to it, and the heuristic's value there."""

    h: float
    path: Plan

    @property
    def f(self) -> float:
        return len(self.path) + self.h


class Exchange:
    """One search's end of it.

    `send` and `send_states` carry plans and states to the other searches. Theirs come in by `receive` and
    `receive_states`, from any thread, and wait until the search takes the shortest plan and the states of least f.
    Plans no shorter than one that was posted or received before go nowhere.
    """

    def __init__(
        self, send: Callable[[Plan], None], send_states: Callable[[list[SharedState]], None] = lambda _: None
    ) -> None:
        self.length: int | None = None
        self._send = send
        self._send_states = send_states
        self._waiting: Plan | None = None
        self._states: list[SharedState] = []
        self._lock = Lock()

    def post(self, plan: Plan) -> None:
        """Tell the others of a plan that this search has found."""
        with self._lock:
            shorter = self._shortens(plan)
        if shorter:
            self._send(plan)

    def receive(self, plan: Plan) -> bool:
        """Keep a plan of another search for `take`; False if it is not news."""
        with self._lock:
            shorter = self._shortens(plan)
            if shorter:
                self._waiting = plan
        return shorter

    def take(self) -> Plan | None:
        """The shortest plan that has come in since the last call."""
        with self._lock:
            plan, self._waiting = self._waiting, None
        return plan

    def post_states(self, states: list[SharedState]) -> None:
        """Tell the others of promising states."""
        if states:
            self._send_states(states)

    def receive_states(self, states: Iterable[SharedState]) -> None:
        """Keep states of another search for `take_states`."""
        with self._lock:
            self._states = nsmallest(MOST_STATES, [*self._states, *states], key=lambda state: state.f)

    def take_states(self) -> list[SharedState]:
        """The most promising states that have come in since the last call."""
        with self._lock:
            states, self._states = self._states, []
        return states

    def _shortens(self, plan: Plan) -> bool:
        shorter = self.length is None or len(plan) < self.length
        if shorter:
            self.length = len(plan)
        return shorter
