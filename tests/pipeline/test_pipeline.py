"""`oclgen learn` on a user's folder, with the user's own names."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch

from oclgen.checkpoint import load_checkpoint
from oclgen.cli import run as run_cli
from oclgen.domains import catalog
from oclgen.encoding import Vocabulary
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.task import PddlTask
from oclgen.pipeline.evaluation import EvaluationResult, table
from oclgen.pipeline.sizes import network_size
from oclgen.planner import solve
from tests.data.toy_data import naive_plan


def users_folder(folder: Path, problems: int) -> Path:
    """Blocksworld as somebody else would have it: another domain name, crates, and plans of his own."""
    spec = catalog.load("blocksworld")
    domain = spec.domain_text.replace("blocksworld-4ops", "harbour")
    (folder / "training").mkdir(parents=True)
    (folder / "training_plans").mkdir()
    (folder / "domain.pddl").write_text(domain)
    for number in range(problems):
        drawn = catalog.draw(spec, 3, number, catalog.overrides(spec, ["blocks=4"])).text
        text = re.sub(r"\bb(\d+)\b", r"crate\1", drawn.replace("blocksworld-4ops", "harbour"))
        (folder / "training" / f"p{number}.pddl").write_text(text)
        plan = format_plan(naive_plan(PddlTask(domain, text)))
        (folder / "training_plans" / f"p{number}.plan").write_text(plan)
    return folder


@pytest.mark.slow
def test_a_folder_becomes_a_model_that_solve_can_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    folder, model = users_folder(tmp_path / "user", 20), tmp_path / "model"
    arguments = ["learn", str(folder), "--time", "8s", "--out", str(model), "--workers", "1"]
    assert run_cli(arguments) == 0
    shown = capsys.readouterr()
    assert re.search(r"^oclgen +\d+% ", shown.out, re.MULTILINE) and not shown.err
    vocabulary = Vocabulary.from_json((model / "policy" / "vocabulary.json").read_text())
    assert vocabulary.domain == "harbour" and len(vocabulary.objects) == 6
    assert load_checkpoint(model / "heuristic", "heuristic").settings.max_cost > 10
    assert {result["method"] for result in json.loads((model / "summary.json").read_text())} == {"best-of-n", "oclgen"}
    result = solve(folder / "domain.pddl", folder / "training" / "p3.pddl", model=model, iterations=3, time_limit=None)
    assert result.counters.evaluated > 0
    shutil.rmtree(model / "heuristic")
    assert run_cli(arguments) == 0
    assert "resuming at step" in capsys.readouterr().out and (model / "heuristic").is_dir()
    torch.set_num_threads(threads)


def test_too_few_problems_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = users_folder(tmp_path / "user", 5)
    assert run_cli(["learn", str(folder), "--time", "1m", "--out", str(tmp_path / "model")]) == 36
    assert "5 problems are too few" in capsys.readouterr().err


def test_a_missing_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["learn", str(tmp_path / "nowhere"), "--time", "1m", "--out", str(tmp_path / "model")]) == 36
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_lengths_are_compared_on_what_every_method_solved() -> None:
    results = [
        EvaluationResult(1, "best-of-n", 12, 10),
        EvaluationResult(1, "oclgen", 8, 10),
        EvaluationResult(2, "best-of-n", None, 30),
        EvaluationResult(2, "oclgen", 20, 30),
    ]
    lines = table(results, 5.0).splitlines()
    assert lines[0].startswith("2 problems held out, 5 s each; lengths over the 1 that all solved")
    assert [line.split() for line in lines[2:]] == [
        ["teacher", "100%", "10.0"],
        ["best-of-n", "50%", "12.0"],
        ["oclgen", "100%", "8.0"],
    ]


def test_a_table_of_no_problems_says_so() -> None:
    assert "nothing to compare with" in table([], 5.0)


def test_more_time_means_a_larger_network() -> None:
    sizes = [network_size(hours * 3600) for hours in (0.1, 1, 10)]
    assert sizes == sorted(sizes) and len(set(sizes)) == 3
