"""`oclgen learn` on awkward folders and after being stopped at awkward moments: nothing is lost, nothing done twice."""

import errno
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from oclgen.cli import run as run_cli
from oclgen.cli.learning import learn as cli_learn
from oclgen.data import collect
from oclgen.data.dataset import UNDECIDED
from oclgen.data.problems import Problem
from oclgen.data.teacher import TeacherJob, TeacherResult, make_row
from oclgen.pddl.reading.problem import read_problem
from oclgen.pipeline import evaluation, gathering, loops, off_plan, sizes, source, tuning
from oclgen.pipeline.clock import Clock
from tests.pipeline.users_folder import harbour, lamp

STAGES = ("off_plan", "training", "tuning", "search", "finetuning", "choosing")


class Killed(BaseException):
    """Stops a run where it is."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All stages of a run of twenty minutes, none of them long."""
    monkeypatch.setattr(cli_learn, "process_age", lambda: 0.0)
    monkeypatch.setattr(sizes, "MOST_EPOCHS", 4.0)
    monkeypatch.setattr(off_plan, "MOST_STATES", 1)
    monkeypatch.setattr(tuning, "MOST_SECONDS", 1.0)
    monkeypatch.setattr(loops.Improver, "planned", lambda _self, number, _left: 5.0 if number == 1 else None)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def killed_once(function: Callable[..., Any], killed: list[str], name: str) -> Callable[..., Any]:
    """The first call does its work and is killed before it can return."""

    def wrapped(*arguments: Any, **options: Any) -> Any:
        found = function(*arguments, **options)
        if name not in killed:
            killed.append(name)
            raise Killed
        return found

    return wrapped


@pytest.mark.slow
def test_a_run_killed_in_every_stage_ends_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[str] = []
    places = zip(
        STAGES,
        (
            (off_plan, "solve_state"),
            (gathering, "store"),
            (tuning, "evaluate"),
            (loops, "search"),
            (loops, "make_model"),
            (loops, "evaluate"),
        ),
        strict=True,
    )
    for name, (module, function) in places:
        monkeypatch.setattr(module, function, killed_once(getattr(module, function), killed, name))
    monkeypatch.setattr(evaluation, "evaluate_one", killed_once(evaluation.evaluate_one, killed, "evaluation"))
    folder, model = harbour(tmp_path / "user", 6), tmp_path / "model"
    arguments = ["learn", str(folder), "--time", "20m", "--out", str(model), "--workers", "1"]
    runs = 0
    while True:
        runs += 1
        try:
            assert run_cli(arguments) == 0
            break
        except Killed:
            assert runs <= 8
    assert sorted(killed) == sorted([*STAGES, "evaluation"]) and runs == 8
    assert json.loads((model / "summary.json").read_text()) and (model / "solve.toml").exists()
    searched = [json.loads(line)["problem"] for line in (model / "work/loop-1/searches.jsonl").read_text().splitlines()]
    assert len(searched) == len(set(searched))


def test_of_10000_problems_only_those_that_there_is_time_for_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lamp(tmp_path / "lamp")
    for number in range(10_000):
        objects = " ".join(f"o{i}" for i in range(number % 1000))
        text = f"(define (problem p{number}) (:domain lamp) (:objects {objects}) (:init) (:goal (lit)))"
        (folder / "training" / f"p{number}.pddl").write_text(text)
    read: list[object] = []

    def counted(domain: str, file: Path) -> object:
        read.append(file)
        return read_problem(domain, file)

    monkeypatch.setattr(source, "read_problem", counted)

    def teacher(job: TeacherJob) -> TeacherResult:
        problem = Problem(job.problem.index, job.problem.name, job.problem.text, {}, plan_file=plan)
        return TeacherResult(replace(make_row(replace(job, problem=problem)), split=UNDECIDED), 0, 0.0, 0.0)

    plan = tmp_path / "plan"
    plan.write_text("(plug-in)\n(switch-on)\n")
    monkeypatch.setattr(collect, "run_teacher", teacher)
    clock = Clock(tmp_path / "clock.json", 600.0)
    problems = source.readable_problems(str(folder), 0, lambda _: None)
    plans = gathering.gather(problems, tmp_path, clock, -1.0, 0, 1, lambda _: None)
    assert 0 < len(read) < 100
    assert plans.counts().total() == gathering.LEAST_SOLVED


def test_a_disk_that_fills_up_while_states_are_solved_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "off_plan/journal.jsonl")

    monkeypatch.setattr(off_plan, "solve_state", full)
    folder = harbour(tmp_path / "user", 3)
    assert run_cli(["learn", str(folder), "--time", "20m", "--out", str(tmp_path / "model"), "--workers", "1"]) != 0
    [line] = capsys.readouterr().err.splitlines()
    assert "off_plan/journal.jsonl: No space left on device; nothing that was done is lost" in line


def test_a_run_that_is_told_to_end_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(off_plan, "solve_state", lambda _: signal.raise_signal(signal.SIGTERM))
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what would end these tests
    folder = harbour(tmp_path / "user", 3)
    try:
        arguments = ["learn", str(folder), "--time", "20m", "--out", str(tmp_path / "model"), "--workers", "1"]
        assert run_cli(arguments) == 130
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == "interrupted; the same command goes on from here" and not shown.err
