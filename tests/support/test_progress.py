import io

import pytest

from oclgen.support import progress
from oclgen.support.progress import CLEAR, LiveLine, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Stands in for the module `time`."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def test_a_terminal_line_is_rewritten_and_gives_way_to_lines_that_stay() -> None:
    out = Terminal()
    line = LiveLine(out)
    line.show("one")
    line.show("two")
    line.say("kept")
    line.clear()
    assert out.getvalue() == f"{CLEAR}one{CLEAR}two{CLEAR}kept\n"


def test_a_terminal_line_changes_no_more_often_than_asked(clock: Clock) -> None:
    out = Terminal()
    line = LiveLine(out, every=0.2)
    line.show("one")
    line.show("too early")
    clock.now += 0.3
    line.show("two")
    assert out.getvalue() == f"{CLEAR}one{CLEAR}two"


def test_elsewhere_a_plain_line_is_printed_now_and_then(clock: Clock) -> None:
    out = io.StringIO()
    line = LiveLine(out, plain_every=30.0)
    line.show("too early")
    clock.now += 31
    line.show("one")
    line.show("too early again")
    clock.now += 31
    line.say("two")
    line.show("just said something")
    assert out.getvalue() == "one\ntwo\n"


def test_where_plain_lines_are_not_wanted_only_lasting_ones_are_printed(clock: Clock) -> None:
    out = io.StringIO()
    line = LiveLine(out, plain_every=None)
    clock.now += 1e6
    line.show("never")
    line.say("kept")
    assert not line.due and out.getvalue() == "kept\n"


def test_progress_tells_rate_and_time_left_of_this_run(clock: Clock) -> None:
    out = Terminal()
    shown = Progress(100, 40, "problem", LiveLine(out), clock.now)
    clock.now += 10
    shown.show(60, "2 failed")
    assert out.getvalue() == f"{CLEAR}60/100, 2.00 problem/s, 20s left, 2 failed"
