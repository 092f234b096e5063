"""`oclgen shorten`, `solve --plan`, and `solve` in a domain without a model, from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from oclgen import method_choice
from oclgen.domains import catalog
from oclgen.errors import ExitCode
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import format_plan, parse_plan, read_plan

FERRY = """(define (domain small-ferry) (:predicates (at ?c ?l) (at-ferry ?l) (on ?c) (empty) (car ?c) (loc ?l))
(:action sail :parameters (?a ?b) :precondition (and (loc ?a) (loc ?b) (at-ferry ?a))
 :effect (and (at-ferry ?b) (not (at-ferry ?a))))
(:action board :parameters (?c ?l) :precondition (and (car ?c) (loc ?l) (at ?c ?l) (at-ferry ?l) (empty))
 :effect (and (on ?c) (not (at ?c ?l)) (not (empty))))
(:action debark :parameters (?c ?l) :precondition (and (car ?c) (loc ?l) (on ?c) (at-ferry ?l))
 :effect (and (at ?c ?l) (empty) (not (on ?c)))))"""
TWO_CARS = """(define (problem two-cars) (:domain small-ferry) (:objects c d l m n)
(:init (car c) (car d) (loc l) (loc m) (loc n) (at c l) (at d l) (at-ferry m) (empty))
(:goal (and (at c m) (at d m))))"""
LONG = parse_plan(
    "(sail m n)(sail n l)(board c l)(sail l n)(sail n m)(debark c m)(sail m l)(board d l)(sail l m)(debark d m)"
    "(sail m n)(sail n m)"
)
SHORTEST = 8


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "domain.pddl").write_text(FERRY)
    (tmp_path / "problem.pddl").write_text(TWO_CARS)
    (tmp_path / "long.plan").write_text(format_plan(LONG))
    return tmp_path


def oclgen(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "oclgen", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_shorten_writes_the_given_plan_and_then_shorter_ones(files: Path) -> None:
    done = oclgen(files, "shorten", "domain.pddl", "problem.pddl", "long.plan", "--json", "run.json")
    assert done.returncode == 0
    assert not done.stderr
    assert read_plan(files / "sas_plan.1") == LONG
    best = read_plan(files / "sas_plan")
    assert len(best) == SHORTEST
    assert validate(FERRY, TWO_CARS, best).valid
    assert json.loads((files / "run.json").read_text())["ending"] == "exhausted"


def test_a_plan_may_be_shortened_in_place(files: Path) -> None:
    oclgen(files, "shorten", "domain.pddl", "problem.pddl", "long.plan", "--plan-file", "long.plan")
    assert len(read_plan(files / "long.plan")) == SHORTEST


@pytest.mark.parametrize(
    ("plan", "code", "message"),
    [
        ("(sail m l)\n", ExitCode.BAD_INPUT, "not valid: goal"),
        ("(sail l m)\n", ExitCode.BAD_INPUT, "not valid: step 1"),
        ("(fly l m)\n", ExitCode.BAD_INPUT, "unknown action fly"),
        ("(sail l\n", ExitCode.BAD_PDDL, "long.plan:"),
    ],
)
def test_a_plan_that_is_refused_stays_where_it_was(files: Path, plan: str, code: ExitCode, message: str) -> None:
    (files / "long.plan").write_text(plan)
    done = oclgen(files, "shorten", "domain.pddl", "problem.pddl", "long.plan", "--plan-file", "long.plan")
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert (files / "long.plan").read_text() == plan


def test_solve_starts_from_a_plan_with_the_model_of_the_domain(tmp_path: Path) -> None:
    spec = catalog.load("blocksworld")
    problem = catalog.draw(spec, 3, 0, catalog.overrides(spec, ["blocks=4"])).text
    (tmp_path / "domain.pddl").write_text(spec.domain_text)
    (tmp_path / "problem.pddl").write_text(problem)
    assert oclgen(tmp_path, "solve", "problem.pddl", "--method", "lama-first", "--plan-file", "first").returncode == 0
    first = read_plan(tmp_path / "first")
    record = ("--json", "run.json", "--overall-time-limit", "60s")
    done = oclgen(tmp_path, "solve", "problem.pddl", "--plan", "first", *record)
    assert done.returncode == 0
    assert read_plan(tmp_path / "sas_plan.1") == first
    assert len(read_plan(tmp_path / "sas_plan")) <= len(first)
    assert json.loads((tmp_path / "run.json").read_text())["method"] == "oclgen"


def test_without_a_model_one_line_says_what_serves_and_how_to_make_one(files: Path) -> None:
    done = oclgen(files, "solve", "problem.pddl")
    assert done.returncode == 0
    assert not done.stderr
    [line] = [line for line in done.stdout.splitlines() if "No model" in line]
    assert "LAMA" in line
    assert "oclgen learn" in line
    assert len(read_plan(files / "sas_plan")) == SHORTEST


def test_asking_for_oclgen_without_a_model_is_an_error(files: Path) -> None:
    done = oclgen(files, "solve", "problem.pddl", "--method", "oclgen")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "oclgen learn" in done.stderr


def test_breadth_first_search_serves_where_fast_downward_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from oclgen.pddl.reading.domain import read_domain

    monkeypatch.setattr(method_choice, "is_installed", lambda: False)
    choice = method_choice.choose_method(read_domain(FERRY))
    assert choice.method == "bfs"
    assert choice.note is not None
    assert "breadth-first search" in choice.note


def test_a_shipped_domain_is_served_by_its_model() -> None:
    from oclgen.pddl.reading.domain import read_domain

    assert method_choice.choose_method(read_domain(catalog.load("sokoban").domain_text)) == ("oclgen", None)
