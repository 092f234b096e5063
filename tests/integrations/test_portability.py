"""The base package without what only some systems have: it imports, solves, and ends its children."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import oclgen
from oclgen.support.processes import kill_tree

SOURCE = Path(oclgen.__file__).parent
NOT_BASE = {"bench", "data", "improve", "learn", "pipeline", "report", "serve"}
"""Layers that need extras; benchmarks and data sets are made on Unix."""
UNIX_MODULES = {"fcntl", "resource", "pwd", "grp", "termios"}
UNIX_NAMES = {"killpg", "fork", "setsid", "SIGKILL", "SIGALRM", "sched_getaffinity"}
GUARDED = {"support/processes.py"}
"""Where such names stand behind a question about the system."""

ELSEWHERE = """
import os, subprocess, sys, tempfile
import click, numpy, psutil, pymimir  # each is built for its system
for name in ("fcntl", "resource"):
    sys.modules.pop(name, None)
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
for name in ("killpg", "fork", "sched_getaffinity"):
    delattr(os, name)
sys.platform = "darwin"
from oclgen.cli import main
main(sys.argv[1:])
"""


def base_files() -> list[Path]:
    files = sorted(SOURCE.rglob("*.py"))
    return [path for path in files if path.relative_to(SOURCE).parts[0] not in NOT_BASE]


@pytest.mark.parametrize("path", base_files(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_file_of_the_base_package_needs_unix_to_be_imported(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            names = {module} if module else {alias.name for alias in node.names}
            assert not names & UNIX_MODULES
    if path.relative_to(SOURCE).as_posix() not in GUARDED:
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not used & UNIX_NAMES


@pytest.mark.parametrize("method", ["bfs", "lama", "best-of-n"])
def test_solve_works_without_the_modules_and_calls_of_unix(method: str, tmp_path: Path) -> None:
    from oclgen.domains import catalog

    spec = catalog.load("blocksworld")
    problem = catalog.draw(spec, 3, 0, catalog.overrides(spec, ["blocks=3"])).text
    (tmp_path / "domain.pddl").write_text(spec.domain_text)
    (tmp_path / "problem.pddl").write_text(problem)
    arguments = ["solve", "problem.pddl", "--method", method, "--overall-time-limit", "120s"]
    limit = ["--iterations", "2"] if method == "best-of-n" else []
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *arguments, *limit], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "sas_plan").exists()


def test_a_child_notices_the_end_of_its_parent_by_itself_where_no_kernel_does() -> None:
    child = "import os, sys, time; sys.platform = 'elsewhere'\nfrom oclgen.support.processes import die_with_parent\n"
    child += "die_with_parent(os.getppid()); print(os.getpid(), flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}], stdout=1).wait()"
    started = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    with started.stdout:
        assert int(started.stdout.readline())
        started.kill()
        started.wait()
        assert not started.stdout.read()  # ends when the last holder of the pipe has ended


def test_a_tree_of_processes_is_killed_where_there_are_no_process_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    grandchild = "import time; print('here', flush=True); time.sleep(60)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline().strip() == b"here"
        kill_tree(child)
        assert child.stdout.read() == b""
    assert child.returncode
