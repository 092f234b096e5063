"""The examples run: a lab experiment at toy size, and the scripts of the planutils package."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oclgen.pddl.plan_file import read_plan
from tests.integrations.test_shorten_command import FERRY, SHORTEST, TWO_CARS

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PLANUTILS = EXAMPLES / "planutils" / "oclgen"


def run(command: list[str | Path], folder: Path, **environment: str) -> str:
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def benchmarks(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks" / "ferry"
    folder.mkdir(parents=True)
    (folder / "domain.pddl").write_text(FERRY)
    (folder / "p01.pddl").write_text(TWO_CARS)
    return folder.parent


def test_the_lab_experiment_runs_both_planners_and_lab_finds_no_unexplained_error(
    benchmarks: Path, tmp_path: Path
) -> None:
    pytest.importorskip("lab", reason="lab is not installed")
    pytest.importorskip("up_fast_downward", reason="needs the extra `teach`")
    script = Path(shutil.copy(EXAMPLES / "lab" / "experiment.py", tmp_path))
    run([sys.executable, script, benchmarks, "--all"], tmp_path, TIME_LIMIT="20", PROCESSES="1")
    runs = json.loads((tmp_path / "data" / "experiment-eval" / "properties").read_text())
    assert {record["algorithm"] for record in runs.values()} == {"oclgen", "lama"}
    for record in runs.values():
        assert record["coverage"] == 1
        assert record["cost"] == SHORTEST
        assert "unexplained_errors" not in record
    assert (tmp_path / "data" / "experiment-eval" / "report.html").exists()


def test_the_planutils_manifest_has_what_planutils_asks_for() -> None:
    manifest = json.loads((PLANUTILS / "manifest.json").read_text())
    assert {"name", "description", "dependencies", "install-size"} <= set(manifest)
    assert manifest["endpoint"]["services"]["solve"]["return"]["files"] == "sas_plan"


@pytest.mark.skipif(sys.platform == "win32", reason="planutils runs on Unix only")
def test_the_planutils_scripts_install_run_and_uninstall(benchmarks: Path, tmp_path: Path) -> None:
    """A stand-in for python3 makes an environment whose oclgen is the one under test: nothing is downloaded."""
    package = Path(shutil.copytree(PLANUTILS, tmp_path / "oclgen"))
    stand_in = tmp_path / "bin" / "python3"
    stand_in.parent.mkdir()
    stand_in.write_text(
        "#!/bin/bash\nmkdir -p environment/bin\n"
        "printf '#!/bin/bash\\necho \"$@\" > asked\\n' > environment/bin/python\n"
        f"printf '#!/bin/bash\\nexec {sys.executable} -m oclgen \"$@\"\\n' > environment/bin/oclgen\n"
        "chmod +x environment/bin/*\n"
    )
    stand_in.chmod(0o755)
    run([package / "install"], tmp_path, PATH=f"{stand_in.parent}:{os.environ['PATH']}", OCLGEN_SOURCE="the-source")
    assert "pip install" in (asked := (package / "asked").read_text())
    assert "the-source" in asked
    link = tmp_path / "linked"
    link.symlink_to(package / "run")
    run([link, benchmarks / "ferry" / "domain.pddl", benchmarks / "ferry" / "p01.pddl"], tmp_path)
    assert len(read_plan(tmp_path / "sas_plan")) == SHORTEST
    run([package / "uninstall"], tmp_path)
    assert not (package / "environment").exists()
