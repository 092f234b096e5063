"""A disk that is full ends any verb with one line."""

import errno
from pathlib import Path

import pytest

from oclgen.classical import fast_downward
from oclgen.cli import run as run_cli
from tests.pipeline.users_folder import lamp


def test_a_full_disk_ends_a_verb_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "problem.pddl")

    monkeypatch.setattr(fast_downward, "start", full)
    assert run_cli(["optima", str(lamp(tmp_path / "lamp", dark="lit")), "--workers", "1"]) == 32
    assert capsys.readouterr().err == "oclgen: problem.pddl: No space left on device\n"
