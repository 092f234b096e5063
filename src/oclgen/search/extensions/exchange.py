"""The plans that several searches of one problem share: each posts its own and takes those of the others (ours)."""

from collections.abc import Callable
from threading import Lock

from oclgen.interfaces import Plan


class Exchange:
    """One search's end of it.

    `send` carries a plan to the other searches. Their plans come in by `receive`, from any thread, and wait until the
    search takes the shortest. Plans no shorter than one that was posted or received before go nowhere.
    """

    def __init__(self, send: Callable[[Plan], None]) -> None:
        self.length: int | None = None
        self._send = send
        self._waiting: Plan | None = None
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

    def _shortens(self, plan: Plan) -> bool:
        shorter = self.length is None or len(plan) < self.length
        if shorter:
            self.length = len(plan)
        return shorter
