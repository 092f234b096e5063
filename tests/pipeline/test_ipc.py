"""The two programs of the IPC's learning track."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from oclgen.cli import run as run_cli
from oclgen.errors import InputError
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import read_plan
from oclgen.pipeline.knowledge import publish, unpack
from tests.pipeline.users_folder import harbour, lamp


def fake_model(folder: Path, text: str) -> Path:
    (folder / "relational").mkdir(parents=True, exist_ok=True)
    (folder / "relational" / "domain.pddl").write_text(text)
    (folder / "solve.toml").write_text("")
    return folder


def test_each_knowledge_file_has_the_next_number_and_the_newest_has_none(tmp_path: Path) -> None:
    knowledge = tmp_path / "ferry.dk"
    for number in (1, 2):
        publish(fake_model(tmp_path / "model", f"model {number}"), knowledge)
    assert {path.name for path in tmp_path.glob("ferry*")} == {"ferry.dk", "ferry.dk.1", "ferry.dk.2"}
    for name, text in (("ferry.dk.1", "model 1"), ("ferry.dk.2", "model 2"), ("ferry.dk", "model 2")):
        model = unpack(tmp_path / name, tmp_path / f"out-{name}")
        assert (model / "relational" / "domain.pddl").read_text() == text


def test_what_is_no_knowledge_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dk").write_text("rubbish")
    for name, message in (("dk", "not a knowledge file"), ("nothing", "no such knowledge file")):
        with pytest.raises(InputError, match=message):
            unpack(tmp_path / name, tmp_path / "out")


def test_without_knowledge_a_classical_planner_makes_a_valid_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lamp(tmp_path / "lamp", dark="lit")
    domain, task = folder / "domain.pddl", folder / "training" / "dark.pddl"
    assert run_cli(["ipc", "plan", str(tmp_path / "dk"), str(domain), str(task), str(tmp_path / "plan")]) == 0
    assert "without knowledge: " in capsys.readouterr().out
    assert validate(domain, task, read_plan(tmp_path / "plan")).valid


def test_other_tasks_take_the_place_of_the_first_ones_only_before_anything_is_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lamp(tmp_path / "lamp", never="broken", nowhere="broken")
    domain, tasks = str(folder / "domain.pddl"), sorted(map(str, (folder / "training").glob("*.pddl")))
    options = ["--time", "8s", "--workers", "1"]
    for given in ([], tasks[:1], tasks):
        copied = tmp_path / "dk.work" / "tasks" / "training"
        assert run_cli(["ipc", "learn", str(tmp_path / "dk"), domain, *given, *options]) == 36
        assert len(list(copied.glob("*.pddl"))) == len(given)
    (tmp_path / "dk.work" / "model" / "work" / "data").mkdir()
    capsys.readouterr()
    assert run_cli(["ipc", "learn", str(tmp_path / "dk"), domain, tasks[0], *options]) == 36
    assert "dk.work: was begun with other tasks" in capsys.readouterr().err


@pytest.mark.slow
def test_a_terminated_learner_leaves_knowledge_that_the_planner_uses(tmp_path: Path) -> None:
    folder = harbour(tmp_path / "user", 8)
    tasks = sorted(map(str, (folder / "training").rglob("*.pddl")))
    knowledge, domain = tmp_path / "dk", str(folder / "domain.pddl")
    command = [sys.executable, "-m", "oclgen", "ipc", "learn", str(knowledge), domain, *tasks, "--workers", "1"]
    best = tmp_path / "dk.work" / "model" / "work" / "training" / "best"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen([*command, "--time", "2m"], stdout=subprocess.DEVNULL, env=environment) as process:
        while process.poll() is None and not best.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert zipfile.is_zipfile(knowledge) and zipfile.is_zipfile(tmp_path / "dk.1")
    plan = ["ipc", "plan", str(knowledge), domain, tasks[0], str(tmp_path / "plan"), "--overall-time-limit", "20s"]
    shown = subprocess.run(
        [sys.executable, "-m", "oclgen", *plan], env=environment, capture_output=True, text=True, check=False
    )
    assert "without knowledge" not in shown.stdout
    for file in tmp_path.glob("plan*"):
        assert validate(Path(domain), Path(tasks[0]), read_plan(file)).valid
