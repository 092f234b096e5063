"""`oclgen demo`, as `make demo` runs it: the shipped models on one problem of each domain."""

import shutil
from pathlib import Path

import pytest

from oclgen import demo
from oclgen.cli import run
from oclgen.domains import catalog
from oclgen.search.anytime import Budget


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches are limited by iterations, so that a slow machine finds the same plans."""
    monkeypatch.setattr(demo, "Budget", lambda seconds: Budget(100 * seconds, iterations=3))


def test_the_demo_solves_a_problem_of_every_domain(patient: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--time-limit", "8s"]) == 0
    assert capsys.readouterr().out.count("Plan valid; plan length over time: ") == len(catalog.names())


def test_a_new_domain_folder_is_shown_without_any_change_elsewhere(patient: None, tmp_path: Path) -> None:
    shutil.copytree(catalog.load("blocksworld").path, tmp_path / "harbour")
    shown = demo.show(tmp_path / "harbour", 8)
    assert (shown.domain, shown.verdict, shown.failed) == ("harbour", "Plan valid", False)
    assert shown.picture.startswith("now")


def test_a_domain_without_picture_and_model_is_shown_by_its_goal_and_is_no_failure(tmp_path: Path) -> None:
    folder = tmp_path / "towers"
    shutil.copytree(catalog.load("blocksworld").path, folder)
    (folder / "picture.py").unlink()
    text = (folder / "domain.pddl").read_text()
    (folder / "domain.pddl").write_text(text.replace("arm-empty", "hand-empty"))
    (folder / "generator.py").write_text(
        "def generate(rng, blocks):\n"
        "    return '(define (problem x) (:domain blocksworld-4ops) (:objects a b) (:init) (:goal (on a b)))'\n"
    )
    shown = demo.show(folder, 8)
    assert (shown.picture, shown.plan, shown.failed) == ("2 objects; goal: (on a b)", None, False)
    assert shown.verdict == demo.NO_MODEL


def test_the_lines_are_a_picture_the_lengths_over_time_and_the_plan() -> None:
    shown = demo.Show("d", "a picture\nof two lines", ((0.12, 3), (1.5, 1)), (("stack", "a", "b"),), "Plan valid")
    assert demo.described(shown) == [
        "  a picture",
        "  of two lines",
        "",
        "  oclgen: Plan valid; plan length over time: 3 (0.1s)  1 (1.5s)",
        "    stack a b",
        "",
    ]


def test_a_long_plan_is_shown_in_part() -> None:
    plan = tuple(("move", str(number)) for number in range(100))
    shown = "\n".join(demo.described(demo.Show("d", "", ((0.1, 100),), plan, "Plan valid")))
    assert "move 39; and 60 more" in shown.replace("\n    ", " ")
    assert "move 40" not in shown


def test_no_plan_is_said_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = demo.Show("blocksworld", "")
    monkeypatch.setattr(demo, "show", lambda name, seconds: nothing)
    assert run(["demo"]) == 1
    assert "no plan; plan length over time: -" in capsys.readouterr().out
