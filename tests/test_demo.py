"""`oclgen demo`, as `make demo` runs it: the shipped models on one problem of each domain."""

import pytest

from oclgen import demo
from oclgen.cli import run
from oclgen.domains import catalog


def test_the_demo_solves_a_problem_of_every_domain(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--time-limit", "8s"]) == 0
    assert capsys.readouterr().out.count("Plan valid; plan length over time: ") == len(catalog.names())


@pytest.mark.parametrize("name", catalog.names())
def test_every_domain_has_a_size_to_show(name: str) -> None:
    assert name in demo.SIZES


def test_what_is_shown_is_a_picture_the_course_of_lengths_and_the_plan() -> None:
    shown = demo.Show("d", "a picture\nof two lines", ((0.12, 3), (1.5, 1)), (("stack", "a", "b"),), "Plan valid")
    assert demo.described(shown) == [
        "  a picture",
        "  of two lines",
        "",
        "  oclgen: Plan valid; plan length over time: 3 (0.1s)  1 (1.5s)",
        "    stack a b",
        "",
    ]


def test_no_plan_is_said_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = demo.Show("blocksworld", "", (), None, "no plan")
    monkeypatch.setattr(demo, "show", lambda name, seconds: nothing)
    assert run(["demo"]) == 1
    assert "no plan; plan length over time: -" in capsys.readouterr().out
