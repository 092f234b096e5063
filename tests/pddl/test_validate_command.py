"""`oclgen validate`: what it prints, and its exit codes."""

from pathlib import Path

import pytest

from oclgen.cli import run
from oclgen.pddl.plan_file import format_plan
from tests.pddl.samples import DELIVERY, ERRAND, ERRAND_PLAN


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.pddl").write_text(DELIVERY)
    Path("p.pddl").write_text(ERRAND)
    Path("plan").write_text(format_plan(ERRAND_PLAN))
    return tmp_path


def outcome(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["validate", *arguments])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_a_valid_plan_prints_what_scripts_grep(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert outcome(capfd, "d.pddl", "p.pddl", "plan") == (0, "Plan valid\nValue: 9\n", "")


def test_a_large_value_is_printed_in_full(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("p.pddl").write_text(ERRAND.replace("(toll home shop) 3", "(toll home shop) 12345678.5"))
    assert outcome(capfd, "d.pddl", "p.pddl", "plan") == (0, "Plan valid\nValue: 12345684.5\n", "")


def test_a_broken_step_is_named_with_its_line_and_precondition(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("plan").write_text("; no move before\n\n" + format_plan(ERRAND_PLAN[1:]))
    expected = "Plan invalid\nplan:3: step 1 (take bob box shop): precondition (at bob shop) does not hold\n"
    assert outcome(capfd, "d.pddl", "p.pddl", "plan") == (1, expected, "")


def test_a_plan_that_misses_the_goal_names_the_goal(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("plan").write_text("")
    expected = "Plan invalid\ngoal (at box depot) does not hold at the end\n"
    assert outcome(capfd, "d.pddl", "p.pddl", "plan") == (1, expected, "")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("(move bob home shop)\n(give bob)\n", "plan:2: give takes 2 arguments, not 1"),
        ("(fly bob)", "plan:1: unknown action fly"),
        ("(give bob pony)", "plan:1: unknown object pony"),
        ("(give bob", "plan:1: opening parenthesis is never closed"),
        ("\x00\x01", "plan:1: expected an opening parenthesis, not '??'"),
    ],
)
def test_a_plan_that_cannot_be_read_ends_with_31_and_one_line(
    files: Path, capfd: pytest.CaptureFixture[str], plan: str, message: str
) -> None:
    Path("plan").write_text(plan)
    assert outcome(capfd, "d.pddl", "p.pddl", "plan") == (31, "", f"oclgen: {message}\n")


def test_bad_files_end_with_the_codes_of_fast_downward(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("empty.pddl").touch()
    Path("axioms.pddl").write_text(DELIVERY.replace("(:action take", "(:derived (a) (b)) (:action take"))
    cases = {
        ("p.pddl", "p.pddl", "plan"): (31, "p.pddl:1: expected (define (domain NAME) ...)"),
        ("empty.pddl", "p.pddl", "plan"): (31, "empty.pddl:1: empty;"),
        ("axioms.pddl", "p.pddl", "plan"): (34, "axioms.pddl:11: axioms (:derived) are not supported"),
        ("d.pddl", "missing.pddl", "plan"): (36, "missing.pddl: no such problem file"),
        ("d.pddl", "p.pddl", "missing"): (36, "missing: no such plan file"),
        ("d.pddl", ".", "plan"): (36, "cannot read this problem file: Is a directory"),
        ("d.pddl", "p.pddl"): (36, "Missing argument 'PLAN'"),
    }
    for arguments, (code, message) in cases.items():
        found = outcome(capfd, *arguments)
        assert found[:2] == (code, "") and message in found[2] and found[2].count("\n") == 1
