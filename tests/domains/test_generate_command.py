import hashlib
import shutil
from pathlib import Path

import pytest

from oclgen.cli import run
from oclgen.domains import catalog
from oclgen.errors import ExitCode
from tests.domains.reading import parts


def generate(out: Path, *arguments: str) -> int:
    return run(["generate", *arguments, "--out", str(out)])


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("name", catalog.names())
def test_the_same_seed_gives_byte_identical_files(name: str, tmp_path: Path) -> None:
    for out in ("a", "b"):
        assert generate(tmp_path / out, name, "--count", "12", "--random-seed", "3") == 0
    assert generate(tmp_path / "c", name, "--count", "12", "--random-seed", "4") == 0
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert digests(tmp_path / "a") != digests(tmp_path / "c")
    assert len(digests(tmp_path / "a")) == 13
    assert (tmp_path / "a" / "domain.pddl").read_text() == catalog.load(name).domain_text


def test_a_larger_count_extends_a_smaller_one(tmp_path: Path) -> None:
    generate(tmp_path / "few", "blocksworld", "--count", "3")
    generate(tmp_path / "many", "blocksworld", "--count", "9")
    assert digests(tmp_path / "few").items() <= digests(tmp_path / "many").items()


def test_no_problem_comes_twice(tmp_path: Path) -> None:
    assert generate(tmp_path / "out", "blocksworld", "--count", "300", "--set", "blocks=3..4") == 0
    problems = [parts(path.read_text()) for path in (tmp_path / "out").glob("p*.pddl")]
    assert len({(tuple(problem.init), tuple(problem.goal)) for problem in problems}) == 300


def test_an_exhausted_class_ends_with_the_number_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(tmp_path / "out", "blocksworld", "--count", "500", "--set", "blocks=3") == ExitCode.BAD_INPUT
    assert "only 169 different problems could be made of the 500 asked for" in capsys.readouterr().err
    assert len(list((tmp_path / "out").glob("p*.pddl"))) == 169


def test_parameters_can_be_set(tmp_path: Path) -> None:
    assert generate(tmp_path / "out", "sokoban", "--count", "4", "--set", "grid=7", "--set", "boxes=1..2") == 0
    for path in (tmp_path / "out").glob("p*.pddl"):
        assert path.read_text().startswith("; sokoban: grid=7 boxes=")


def test_a_folder_outside_the_package_is_a_domain(tmp_path: Path) -> None:
    shutil.copytree(catalog.load("labyrinth").path, tmp_path / "maze")
    assert generate(tmp_path / "out", str(tmp_path / "maze"), "--count", "2") == 0
    assert (tmp_path / "out" / "p00001.pddl").read_text().startswith("; maze: size=")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no domain nowhere"),
        (["blocksworld", "--set", "size=3"], "expected key=value"),
        (["sokoban", "--set", "boxes=99"], "boxes"),
        (["blocksworld", "--count", "0"], "--count"),
    ],
)
def test_bad_arguments_end_in_one_line_and_write_nothing(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate(tmp_path / "out", *arguments) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_not_written_into(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "precious").write_text("mine")
    assert generate(tmp_path, "blocksworld") == ExitCode.BAD_INPUT
    assert "not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_one_line_says_what_was_made_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(tmp_path / "out", "blocksworld", "--count", "5") == 0
    assert capsys.readouterr() == (f"5 problems of blocksworld in {tmp_path / 'out'}\n", "")


def test_long_work_shows_plain_lines_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oclgen.support.progress.PLAIN_SECONDS", 0.0)
    assert generate(tmp_path / "out", "blocksworld", "--count", "3") == 0
    assert "2/3" in capsys.readouterr().out.splitlines()[1]
