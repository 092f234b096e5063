"""The loop of self-improvement, whole: real searches, real training steps, real processes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from oclgen.cli import run as run_cli
from oclgen.data import dataset
from oclgen.data.dataset import Row
from oclgen.errors import InputError
from oclgen.improve.loop import Finding, ImprovementLoop, StageProgress, improve
from oclgen.improve.pool import choose
from oclgen.improve.settings import ImproveSettings, ProblemSettings, read_settings
from oclgen.improve.training_data import best_searches, kept_length
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan
from oclgen.planner import solve
from oclgen.relational_checkpoint import load_relational
from tests.improve.improving import CONFIGS, SMOKE, make_data, make_model, make_papers_model, tiny, tiny_overrides

TWICE = ["n_loop=2", "problems.per_loop=12"]  # all there are: the second iteration meets the same problems


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("improve") / "data")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    before = torch.get_num_threads()
    made = make_model(tmp_path_factory.mktemp("model"), data)
    torch.set_num_threads(before)
    return made


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory, data: Path, model: Path) -> ImprovementLoop:
    """Two iterations over the same problems, with all extra beyond the paper."""
    return run_loop(tiny(data, *TWICE), tmp_path_factory.mktemp("loop") / "out", model)


def run_loop(settings: ImproveSettings, folder: Path, model: Path, resume: bool = False) -> ImprovementLoop:
    for _ in improve(settings, folder, model, workers=1, resume=resume):
        pass
    return ImprovementLoop(settings, folder, 1)


def table(loop: ImprovementLoop, number: int) -> dict[str, object]:
    found: dict[str, object] = json.loads((loop.folder(number) / "metrics.json").read_text())
    return found


def rows(loop: ImprovementLoop, number: int) -> list[Row]:
    return list(dataset.open_dataset(loop.folder(number) / "data").rows())


def origins(loop: ImprovementLoop, number: int) -> list[str]:
    return [row.outcome for row in rows(loop, number) if row.split == "train"]


def test_no_iteration_loses_a_better_plan(loop: ImprovementLoop) -> None:
    teacher = {row.id: row.length for row in loop.data.rows("train")}
    first = {each.problem: kept_length(each) for each in loop.searches(1) if each.split == "train"}
    bank = best_searches([*loop.searches(1), *loop.searches(2)])
    assert first.keys() == teacher.keys()
    assert all(kept_length(bank[number]) <= length <= teacher[number] for number, length in first.items())
    assert sum(first.values()) < sum(teacher.values())
    learned = {json.loads(row.parameters)["problem"]: row.length for row in rows(loop, 2) if row.outcome != "state"}
    assert all(length == kept_length(bank[number]) for number, length in learned.items())


def test_every_example_is_a_valid_plan_for_its_problem(loop: ImprovementLoop) -> None:
    found = rows(loop, 2)
    assert {"improved", "state"} <= {row.outcome for row in found}
    assert len({row.id for row in found}) == len(found)
    for row in found:
        plan = parse_plan(row.plan, row.name)
        assert len(plan) == row.length
        assert validate(loop.data.domain_text, row.problem, plan).valid


def test_validation_problems_are_the_same_in_each_iteration_and_only_judge(loop: ImprovementLoop) -> None:
    assert loop.choice(1).val == loop.choice(2).val
    assert loop.choice(1).test == loop.choice(2).test
    judged = [row for row in rows(loop, 2) if row.split == "val"]
    assert len(judged) == len(loop.choice(2).val)
    learned = {json.loads(row.parameters)["problem"] for row in rows(loop, 2) if row.split == "train"}
    assert not learned & {*loop.choice(2).val, *loop.choice(2).test}


def test_each_iteration_is_a_model_that_solves(loop: ImprovementLoop, model: Path) -> None:
    for head in ("query.weight", "cost_out.weight"):
        weights = [load_relational(loop.folder(number) / "relational").weights[head] for number in range(3)]
        assert np.array_equal(weights[0], load_relational(model / "relational").weights[head])
        assert not np.array_equal(weights[0], weights[1]) and not np.array_equal(weights[1], weights[2])
    row = next(loop.data.rows("test"))
    applicable = {"decoding": "applicable"}
    assert solve(
        loop.data.domain_text, row.problem, model=loop.folder(2), iterations=3, time_limit=None, settings=applicable
    ).plan


def test_finetuning_starts_from_the_iteration_before(loop: ImprovementLoop) -> None:
    settings = json.loads((loop.folder(2) / "training" / "relational" / "settings.json").read_text())
    assert settings["run"]["initial"] == str(loop.folder(1) / "relational")


def test_the_loop_says_what_each_iteration_reached(loop: ImprovementLoop) -> None:
    summary = json.loads((loop.out / "loop.json").read_text())
    assert (summary["domain"], summary["method"], summary["samples"]) == ("blocksworld", "oclgen", 3)
    assert [entry["iteration"] for entry in summary["iterations"]] == [0, 1, 2]
    for number, entry in enumerate(summary["iterations"]):
        found = table(loop, number)
        assert {key: found[key] for key in entry if key != "common_length"} == {
            key: value for key, value in entry.items() if key != "common_length"
        }
        assert entry["problems"] == 2 and entry["completion"] == entry["solved"] / 2
    search = table(loop, 1)["search"]
    assert isinstance(search, dict)
    assert search["problems"] == 12 and search["kept_length"] < search["known_length"]


def test_a_finished_loop_can_be_made_longer_and_does_nothing_twice(
    loop: ImprovementLoop, tmp_path: Path, model: Path
) -> None:
    shutil.copytree(loop.out, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("iteration-*/*.json*")}
    longer = run_loop(read_settings(tmp_path / "out" / "settings.json", ["n_loop=3"]), tmp_path / "out", model, True)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert table(longer, 3)["iteration"] == 3


def test_a_loop_that_is_resumed_with_fewer_iterations_keeps_the_figures_of_all(
    loop: ImprovementLoop, tmp_path: Path, model: Path
) -> None:
    shutil.copytree(loop.out, tmp_path / "out")
    shorter = run_loop(read_settings(tmp_path / "out" / "settings.json", ["n_loop=1"]), tmp_path / "out", model, True)
    assert (shorter.out / "loop.json").read_bytes() == (loop.out / "loop.json").read_bytes()


def test_the_papers_loop_learns_one_plan_per_problem_and_keeps_the_teachers_where_search_fails(
    data: Path, tmp_path: Path, model: Path
) -> None:
    plain = ["extra={}", "search.profile=paper", "search.iterations=1", "search.settings={n_init = 0, samples = 1}"]
    loop = run_loop(tiny(data, "n_loop=1", *plain), tmp_path / "out", model)
    teacher = {row.name: row for row in loop.data.rows("train")}
    unsolved = {each.name for each in loop.searches(1) if not each.solved and each.split == "train"}
    learned = [row for row in rows(loop, 1) if row.split == "train"]
    assert len(learned) == len({row.name for row in learned}) == 5
    assert unsolved
    for row in learned:
        if row.name in unsolved:
            assert (row.outcome, row.plan, row.teacher) == ("known", teacher[row.name].plan, "toy")


def test_monte_carlo_tree_search_can_be_the_method(data: Path, tmp_path: Path, model: Path) -> None:
    mcts = ["search.method=mcts", "search.settings={samples = 2}", "search.oclgen={n_init = 2}"]
    loop = run_loop(tiny(data, "n_loop=1", *mcts, "problems.per_loop=3"), tmp_path / "out", model)
    assert all(each.counters is not None and each.counters["iterations"] for each in loop.searches(1) if each.length)
    assert table(loop, 1)["method"] == "mcts"
    assert origins(loop, 1).count("teacher") == 2


@pytest.mark.slow
def test_a_killed_loop_goes_on_without_repeating_searches(data: Path, tmp_path: Path, model: Path) -> None:
    """Two real workers, killed with their parent in the middle; the end is that of an undisturbed loop."""
    overrides = tiny_overrides(data, "n_loop=1", "problems.per_loop=12")
    command = [sys.executable, "-m", "oclgen", "improve", "--out", str(tmp_path / "out"), "--workers", "2"]
    first = [*command, "--config", str(SMOKE), "--model", str(model), *overrides]
    journal = tmp_path / "out" / "iteration-1" / "searches.jsonl"
    with subprocess.Popen(first, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    finished = journal.read_bytes()
    finished = finished[: finished.rfind(b"\n") + 1]
    assert 3 <= finished.count(b"\n") < 14
    with journal.open("ab") as file:
        file.write(b'{"problem": 3, "na')
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, "--resume"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "iteration 1: best of 3 completes" in done.stdout
    assert journal.read_bytes().startswith(finished)
    searched = [json.loads(line)["problem"] for line in journal.read_text().splitlines()]
    assert len(searched) == len(set(searched)) == 14
    undisturbed = run_loop(tiny(data, "n_loop=1", "problems.per_loop=12"), tmp_path / "whole", model)
    resumed = ImprovementLoop(undisturbed.settings, tmp_path / "out", 1)
    assert [row.plan for row in rows(resumed, 1)] == [row.plan for row in rows(undisturbed, 1)]
    one, other = (load_relational(each.folder(1) / "relational").weights for each in (resumed, undisturbed))
    assert all(np.allclose(one[name], other[name], atol=1e-6) for name in one)


@pytest.mark.parametrize("config", ["paper/improve-blocksworld.toml", "cpu/improve-blocksworld.toml"])
def test_the_shipped_recipes_start_with_monte_carlo_tree_search(
    data: Path, tmp_path: Path, model: Path, config: str
) -> None:
    settings = read_settings(CONFIGS / config, ["search.method=mcts", f"problems.path={data}"])
    reports = improve(settings, tmp_path / "out", model, workers=1)
    assert any(isinstance(report, StageProgress) and report.stage.endswith("best of 10") for report in reports)


def test_the_networks_of_the_papers_models_are_finetuned_each(data: Path, tmp_path: Path) -> None:
    steps = [f"{kind}.schedule={{steps = 4}}" for kind in ("policy", "heuristic")]
    start = make_papers_model(tmp_path / "model", data)
    settings = tiny(data, "n_loop=1", "problems.per_loop=3", *steps, "policy.data={window = 24, batch_examples = 16}")
    loop = run_loop(settings, tmp_path / "out", start)
    for kind in ("policy", "heuristic"):
        before, after = (loop.folder(number) / kind / "weights.safetensors" for number in (0, 1))
        assert before.read_bytes() != after.read_bytes()


def test_a_loop_can_draw_its_own_problems(data: Path, tmp_path: Path, model: Path) -> None:
    own = ["problems.domain=blocksworld", "problems.ranges=['blocks=3']", "problems.per_loop=2", "n_loop=1"]
    settings = tiny(Path(), "problems.path=''", *own)
    reports = list(improve(settings, tmp_path / "out", model, workers=1))
    stages = [report.stage for report in reports if isinstance(report, StageProgress)]
    assert list(dict.fromkeys(stages)) == [
        "drawing problems",
        "iteration 0: best of 3",
        "iteration 1: searching",
        "iteration 1: best of 3",
    ]
    assert isinstance(reports[-1], Finding)
    stored = dataset.open_dataset(tmp_path / "out" / "problems")
    assert [stored.count(split) for split in ("test", "val", "train")] == [3, 2, 2]


def test_problems_come_back_only_when_all_have_had_their_turn(data: Path) -> None:
    stored, asked = dataset.open_dataset(data), ProblemSettings(per_loop=7, validation=1, test=1)
    choices = [choose(stored, asked, [], random.Random(0))]
    for number in range(1, 4):
        choices.append(choose(stored, asked, choices, random.Random(number)))
    chosen = [set(choice.train) for choice in choices]
    assert list(map(len, chosen)) == [0, 7, 7, 7]
    assert len(chosen[1] | chosen[2]) == 12


def test_a_loop_is_neither_overwritten_nor_changed(
    loop: ImprovementLoop, data: Path, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="holds a loop already"):
        run_loop(tiny(data, *TWICE), loop.out, model)
    with pytest.raises(InputError, match="search cannot change when a loop is resumed"):
        run_loop(tiny(data, *TWICE, "search.iterations=4"), loop.out, model, resume=True)
    with pytest.raises(InputError, match="no loop to resume here"):
        run_loop(tiny(data), tmp_path / "nowhere", model, resume=True)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("search.settings={beam = 3}", "unknown setting 'beam'"),
        ("evaluation.settings={beam = 3}", "unknown setting 'beam'"),
        ("relational.data.window=30", "relational.data.window is 30, but 80 plan positions hold 26"),
        ("problems.path=/nowhere", "/nowhere: not a data set"),
        ("problems.path=''", "no problems: give --data DIR"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_search(
    data: Path, tmp_path: Path, model: Path, override: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_loop(tiny(data, "problems.domain=''", override), tmp_path / "out", model)


def test_a_loop_needs_a_whole_model(data: Path, tmp_path: Path, model: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no such model folder"):
        run_loop(tiny(data), tmp_path / "out", tmp_path / "empty")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["improve", "--out", "nowhere"],
        ["improve", "--out", "nowhere", "--config", "nowhere.toml"],
        ["improve", "--out", "nowhere", "--config", str(SMOKE), "search.beam=3"],
        ["improve", "--out", "nowhere", "--config", str(SMOKE)],
        ["improve", "--out", "nowhere", "--resume"],
    ],
)
def test_bad_arguments_are_one_line_and_code_36(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(arguments) == 36
    assert len(capsys.readouterr().err.splitlines()) == 1
