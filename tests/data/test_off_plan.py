"""States beside the plans of a data set."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from oclgen.cli import cli
from oclgen.data import dataset
from oclgen.data.off_plan import ID_STEP, OffPlanSettings, add_off_plan_states, walk_off_plan
from oclgen.errors import InputError
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan
from oclgen.pddl.task import PddlTask
from tests.data.toy_data import make_dataset

FEW = OffPlanSettings(states=2, walk=3)


def made(source: Path, out: Path, detours: OffPlanSettings = FEW) -> dataset.Dataset:
    list(add_off_plan_states(dataset.open_dataset(source), out, detours, workers=1))
    return dataset.open_dataset(out)


def timeless(data: dataset.Dataset) -> list[str]:
    return sorted(str(replace(row, seconds=0.0)) for row in data.rows())


def test_the_old_rows_stay_and_training_problems_get_solved_states_of_their_own(tmp_path: Path) -> None:
    source = make_dataset(tmp_path / "source", 6)
    old = list(dataset.open_dataset(source).rows())
    data = made(source, tmp_path / "out")
    rows = {row.id: row for row in data.rows()}
    assert [rows[row.id] for row in old] == old
    new = [row for row in rows.values() if row.id >= ID_STEP]
    assert {row.id % ID_STEP for row in new} == {row.id for row in old if row.split == "train"}
    assert len(new) == 2 * 4 and {row.split for row in new} == {"train"}
    for row in new:
        plan = parse_plan(row.plan, row.name)
        assert validate(data.domain_text, row.problem, plan).valid
        assert len(plan) == row.length == len(PddlTask(data.domain_text, row.problem).shortest_plan() or ())
        assert row.problem != rows[row.id % ID_STEP].problem


def test_what_was_stopped_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    source = make_dataset(tmp_path / "source", 5)
    steps = add_off_plan_states(dataset.open_dataset(source), tmp_path / "part", FEW, workers=1)
    assert next(steps) == (0, 3) and next(steps) == (1, 3)
    steps.close()
    whole, resumed = made(source, tmp_path / "whole"), made(source, tmp_path / "part")
    assert timeless(whole) == timeless(resumed)
    with pytest.raises(InputError, match="another recipe"):
        made(source, tmp_path / "part", OffPlanSettings(states=3))


def test_a_way_leaves_the_plan_and_avoids_goals(tmp_path: Path) -> None:
    data = dataset.open_dataset(make_dataset(tmp_path, 3))
    row = next(data.rows("train"))
    task, plan = PddlTask(data.domain_text, row.problem), parse_plan(row.plan, row.name)
    for seed in range(30):
        actions, state = walk_off_plan(task, plan, 5, random.Random(seed))
        reached = task.initial_state
        for action in actions:
            reached = task.apply(reached, action)
            assert reached is not None and not task.is_goal(reached)
        assert reached == state


def test_the_verb_says_what_it_made(tmp_path: Path) -> None:
    source = make_dataset(tmp_path / "source", 4)
    old = next(dataset.open_dataset(source).rows())
    writer = dataset.Writer(source, {"source": "blocksworld"}, dataset.open_dataset(source).domain_text)
    writer.append(replace(old, id=99, split="failed", fingerprint="99", length=-1))  # not one of the detours
    writer.close()
    asked = ["detours", str(source), "--out", str(tmp_path / "out"), "--states", "1", "--workers", "1"]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code == 0, result.output
    assert f"4 training rows in {tmp_path / 'out'} (0 states without a known plan)" in result.output
