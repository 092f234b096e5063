"""The live line on a terminal."""

import io
import threading

import pytest

from oclgen import output
from oclgen.output import SearchLine
from oclgen.search.anytime import Budget, Counters

ERASE = "\r\x1b[K"
PATIENCE_SECONDS = 60.0


class Terminal(io.StringIO):
    """Remembers what was written to it and says when something was."""

    def __init__(self, is_terminal: bool = True) -> None:
        super().__init__()
        self.written = threading.Event()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        length = super().write(text)
        self.written.set()
        return length


@pytest.fixture(autouse=True)
def redraw_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "LIVE_SECONDS", 0.001)


def test_the_line_is_drawn_while_the_search_never_checks_its_budget() -> None:
    terminal, counters = Terminal(), Counters(generated=7, iterations=3)
    live = SearchLine(Budget(), counters, terminal)
    live.best = 12
    with live.running():
        assert terminal.written.wait(PATIENCE_SECONDS)
    assert "best 12  nodes 7  iterations 3" in terminal.getvalue()


def test_the_line_is_gone_once_it_is_stopped_or_its_context_fails() -> None:
    terminal = Terminal()
    live = SearchLine(Budget(), Counters(), terminal)
    with pytest.raises(ValueError, match="bad"), live.running():
        assert terminal.written.wait(PATIENCE_SECONDS)
        raise ValueError("bad")
    assert terminal.getvalue().endswith(ERASE)


def test_other_output_takes_the_place_of_the_line() -> None:
    terminal = Terminal()
    live = SearchLine(Budget(), Counters(), terminal)
    with live.running():
        assert terminal.written.wait(PATIENCE_SECONDS)
        with live.hidden():
            before = terminal.getvalue()
            terminal.write("a plan\n")
    assert before.endswith(ERASE)
    assert f"{ERASE}a plan\n" in terminal.getvalue()


def test_checking_the_budget_draws_nothing_and_elsewhere_than_on_a_terminal_there_is_no_line() -> None:
    file = Terminal(is_terminal=False)
    budget = Budget(seconds=0.0)
    threads = threading.active_count()
    with SearchLine(budget, Counters(), file).running():
        assert budget.exhausted()
        assert threading.active_count() == threads
    assert file.getvalue() == ""
