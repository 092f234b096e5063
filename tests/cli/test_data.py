import re
from pathlib import Path

import pytest

from oclgen.cli import run
from oclgen.errors import ExitCode

SMALL = ["--count", "4", "--val", "1", "--test", "1", "--workers", "1", "--set", "blocks=3..4"]


def data(out: Path, *more: str, name: str = "blocksworld") -> int:
    return run(["data", name, "--out", str(out), *SMALL, *more])


def test_a_data_set_is_made_and_its_cost_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert data(tmp_path) == ExitCode.SUCCESS
    printed = capsys.readouterr()
    assert printed.err == ""
    assert re.search(r"4 problems in .* \(this run: 1 test, 2 train, 1 val; own work \d+\.\d% of CPU", printed.out)
    assert data(tmp_path) == ExitCode.SUCCESS
    assert "nothing to do" in capsys.readouterr().out


def test_another_recipe_for_the_same_folder_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data(tmp_path)
    capsys.readouterr()
    assert data(tmp_path, "--random-seed", "2") == ExitCode.BAD_INPUT
    printed = capsys.readouterr()
    assert "another recipe: seed 0 (now 2)" in printed.err and printed.err.count("\n") == 1


def test_an_unknown_domain_names_the_known_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert data(tmp_path / "out", name="nowhere") == ExitCode.BAD_INPUT
    assert "blocksworld" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("")
    assert data(tmp_path / "out") == ExitCode.BAD_INPUT
    assert re.fullmatch(r"oclgen: .*out/parts: Not a directory\n", capsys.readouterr().err)


def test_without_fast_downward_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert data(tmp_path) == ExitCode.BAD_INPUT
    assert "pip install 'oclgen[teach]'" in capsys.readouterr().err


def test_plain_lines_tell_rate_and_time_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("oclgen.support.progress.PLAIN_SECONDS", 0.0)
    data(tmp_path)
    assert re.search(r"^2/4, [\d.]+ problem/s, \d+s left, 0 failed, own work", capsys.readouterr().out, re.MULTILINE)


def test_optima_are_proved_for_a_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data(tmp_path)
    arguments = ["optima", str(tmp_path), "--split", "train", "--workers", "1"]
    assert run(arguments) == ExitCode.SUCCESS
    assert "2 of 2 open problems proved" in capsys.readouterr().out
    assert run(arguments) == ExitCode.SUCCESS
    assert "0 of 0 open problems" in capsys.readouterr().out
