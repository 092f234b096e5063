"""Loops of `oclgen learn` by themselves: what they learn from, which models are kept, and when they end."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from oclgen.data.dataset import DEAD_END, Row
from oclgen.data.off_plan import ID_STEP, off_plan_row
from oclgen.improve.searching import Searched
from oclgen.pddl.plan_file import parse_plan
from oclgen.pipeline import loops
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.evaluation import EvaluationJob, EvaluationResult
from oclgen.pipeline.gathering import Plans
from oclgen.pipeline.loops import Improver
from oclgen.pipeline.off_plan import problem_of
from oclgen.pipeline.source import Say
from oclgen.support.files import write_json
from tests.data.walked_data import written


def improver(plans: Plans, work: Path, say: Say = lambda _: None) -> Improver:
    return Improver(work, plans, Clock(work / "clock.json", 600.0), 1, 0, say)


def finished_loop(work: Path, number: int, **outcome: Any) -> Path:
    folder = work / f"loop-{number}"
    folder.mkdir()
    write_json(folder / "outcome.json", {"kept": True, "better": True, "all_solved": True, **outcome})
    return folder


@pytest.mark.parametrize(
    ("better", "all_solved", "ends"),
    [
        ([False, False], True, True),
        ([True, False, False], True, True),
        ([False, False], False, False),
        ([False, True], True, False),
        ([False], True, False),
    ],
)
def test_loops_end_early_when_all_is_solved_and_two_made_nothing_better(
    plans: Plans, tmp_path: Path, better: list[bool], all_solved: bool, ends: bool
) -> None:
    for number, each in enumerate(better, 1):
        finished_loop(tmp_path, number, better=each, all_solved=all_solved)
    said: list[str] = []
    assert improver(plans, tmp_path, said.append).settled() is ends
    assert len(said) == ends


def choice_of(row: Row, length: int) -> str:
    return (
        json.dumps(asdict(EvaluationResult(row.id, "oclgen", length, row.length, length, f"plan of {length}"))) + "\n"
    )


def test_loops_are_validated_on_the_best_plans_that_any_model_found(plans: Plans, tmp_path: Path) -> None:
    [row] = plans.validation()
    assert list(improver(plans, tmp_path).validation()) == [row]
    (tmp_path / "choice-0.jsonl").write_text(choice_of(row, row.length - 1))
    (finished_loop(tmp_path, 1) / "choice.jsonl").write_text(choice_of(row, row.length + 1))
    best = replace(row, length=row.length - 1, plan=f"plan of {row.length - 1}")
    assert list(improver(plans, tmp_path).validation()) == [best]


def test_of_plans_of_the_same_length_the_newest_validates(plans: Plans, tmp_path: Path) -> None:
    [row] = plans.validation()
    for number in range(1, 11):
        plan = choice_of(row, row.length).replace("plan of", f"loop {number}:")
        (finished_loop(tmp_path, number) / "choice.jsonl").write_text(plan)
    assert list(improver(plans, tmp_path).validation()) == [replace(row, plan=f"loop 10: {row.length}")]


@pytest.mark.parametrize(
    ("length", "first", "kept", "better"),
    [
        (9, 30, True, True),
        (10, 19, True, True),
        (10, 20, True, False),
        (10, 21, True, False),
        (10, 22, False, False),
        (11, 9, False, False),
    ],
)
def test_a_loop_is_kept_unless_its_model_is_worse(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, first: int, kept: bool, better: bool
) -> None:
    def found(path: Path, jobs: list[EvaluationJob], *_: object) -> list[EvaluationResult]:
        last, began = (length, first) if path.parent.name == "loop-1" else (10, 20)
        return [EvaluationResult(job.row.id, job.method, last, 10, began) for job in jobs]

    monkeypatch.setattr(loops, "evaluate", found)
    work = tmp_path / "work"
    (work / "loop-1").mkdir(parents=True)
    own = improver(plans, work)
    own.choose(1, 10.0)
    [outcome] = own.outcomes()
    assert (outcome["kept"], outcome["better"]) == (kept, better)
    assert own.current() == (work / "loop-1" if kept else work) / "model"


def test_a_teachers_states_stay_only_where_no_search_was_as_good(plans: Plans, tmp_path: Path) -> None:
    equal, worse, *_ = rows = plans.rows("train")
    beside = [off_plan_row(row, 1, plans.data.domain_text, row.problem, parse_plan(row.plan, "")) for row in rows]
    dead = replace(beside[0], id=beside[0].id + ID_STEP, outcome=DEAD_END)
    written(tmp_path / "off_plan", plans.data.domain_text, [*beside, dead])
    searches = [Searched(row.id, row.name, "train", row.length, row.length, row.plan, "time", 1.0, 0) for row in rows]
    searches[1] = replace(searches[1], length=worse.length + 1)
    (tmp_path / "loop-1").mkdir()
    lines = (json.dumps(asdict(search)) for search in searches)
    (tmp_path / "loop-1" / "searches.jsonl").write_text("\n".join(lines) + "\n")
    taught = [row for row in improver(plans, tmp_path).examples(1) if row.outcome in ("detour", DEAD_END)]
    assert [(problem_of(row), row.outcome) for row in taught] == [(worse.id, "detour"), (equal.id, DEAD_END)]
