"""Plan files as other planners write and read them."""

from pathlib import Path

import pytest

from oclgen.errors import InputError, PddlError
from oclgen.pddl.plan_file import format_plan, is_complete, parse_plan, parse_steps, read_plan, write_plan

PLAN = (("stack", "b1", "b2"), ("wait",))


def test_a_plan_is_written_one_action_a_line_with_its_cost_last() -> None:
    assert format_plan(PLAN) == "(stack b1 b2)\n(wait)\n; cost = 2 (unit cost)\n"
    assert format_plan(()) == "; cost = 0 (unit cost)\n"


def test_what_is_written_is_read_back() -> None:
    assert parse_plan(format_plan(PLAN)) == PLAN
    assert parse_plan("") == ()


def test_blanks_upper_case_comments_and_any_line_ends_are_accepted() -> None:
    text = "; found by hand\r\n( STACK  b1\tB2 ) ; first\r\r(wait )"
    assert parse_plan(text) == PLAN
    assert [line for line, _ in parse_steps(text)] == [2, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(stack b1 b2)\nstack b1", "p:2: expected an opening parenthesis, not 'stack'"),
        ("(stack b1 b2", "p:1: opening parenthesis is never closed"),
        ("(stack b1 b2))", "p:1: closing parenthesis without an opening one"),
        ("\n()", r"p:2: expected an action, not \(\)"),
        ("(stack (b1) b2)", "p:1: expected an action such as"),
    ],
)
def test_a_broken_plan_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(PddlError, match=message):
        parse_plan(text, "p")


def test_a_plan_without_its_cost_line_is_incomplete() -> None:
    text = format_plan(PLAN)
    assert is_complete(text)
    assert is_complete(text.upper().replace("\n", "\r\n"))
    assert not any(is_complete(text[:length]) for length in range(text.index("=") + 2))


def test_writing_replaces_a_plan_at_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "sas_plan"
    write_plan(path, PLAN)
    write_plan(path, PLAN[:1])
    assert read_plan(path) == PLAN[:1]
    assert [each.name for each in tmp_path.iterdir()] == ["sas_plan"]
    assert path.stat().st_mode & 0o044, "others may read a plan"


def test_a_plan_that_cannot_be_written_or_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write this plan"):
        write_plan(tmp_path / "missing" / "sas_plan", PLAN)
    with pytest.raises(InputError, match="cannot write this plan: Is a directory"):
        write_plan(tmp_path, PLAN)
    with pytest.raises(InputError, match="no such plan file"):
        read_plan(tmp_path / "missing")


def test_a_device_is_written_to_and_stays_a_device() -> None:
    write_plan(Path("/dev/null"), PLAN)
    assert Path("/dev/null").is_char_device()
