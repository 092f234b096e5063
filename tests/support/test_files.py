"""A crash at any moment leaves files whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oclgen.errors import InputError
from oclgen.support.files import (
    JsonLines,
    copy_folder,
    keep_json_lines,
    locked,
    read_json,
    read_json_lines,
    replacing,
    replacing_folder,
    try_lock,
    write_json,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_keeps_its_old_content_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text("half")
        assert path.read_text() == "old"
        raise ZeroDivisionError
    assert path.read_text() == "old" and names(tmp_path) == ["file"]
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new" and names(tmp_path) == ["file"]


def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").touch()
    with pytest.raises(ZeroDivisionError), replacing_folder(folder) as made:
        (made / "half").touch()
        raise ZeroDivisionError
    assert names(folder) == ["old"] and names(tmp_path) == ["folder"]
    with replacing_folder(folder) as made:
        (made / "new").touch()
        assert names(folder) == ["old"]
    assert names(folder) == ["new"] and names(tmp_path) == ["folder"]


def test_a_folder_that_another_process_made_first_can_be_kept(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with replacing_folder(folder, keep=True) as made:
        (made / "ours").touch()
        folder.mkdir()
        (folder / "theirs").touch()
    assert names(folder) == ["theirs"] and names(tmp_path) == ["folder"]


def test_a_copied_folder_holds_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "one" / "deep").mkdir(parents=True)
    (tmp_path / "one" / "deep" / "file").write_text("text")
    copy_folder(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "two" / "deep" / "file").read_text() == "text"


def test_json_is_read_back_and_damage_names_the_file(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"k": [1, 2.5, None]})
    assert read_json(tmp_path / "a.json") == {"k": [1, 2.5, None]}
    (tmp_path / "b.json").write_text("{")
    with pytest.raises(InputError, match=r"b\.json: "):
        read_json(tmp_path / "b.json")
    with pytest.raises(InputError, match=r"c\.json: No such file"):
        read_json(tmp_path / "c.json")


def test_appended_lines_are_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    assert list(read_json_lines(path)) == []
    for number in range(3):
        with JsonLines(path, durable=True) as file:
            file.append({"number": number, "text": "ä\n\u2028"})
    assert list(read_json_lines(path)) == [{"number": number, "text": "ä\n\u2028"} for number in range(3)]


@pytest.mark.parametrize("torn", [b'{"number":', b"x" * 200_000])
def test_a_torn_last_line_is_passed_over_and_cut_off_when_opened_again(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "lines"
    with JsonLines(path) as file:
        file.append({"number": 1})
    path.write_bytes(path.read_bytes() + torn)
    assert list(read_json_lines(path)) == [{"number": 1}]
    with JsonLines(path) as file:
        file.append({"number": 2})
    assert path.read_text() == '{"number":1}\n{"number":2}\n'


def test_a_file_of_nothing_but_a_torn_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text('{"number"')
    with JsonLines(path) as file:
        file.append({"number": 2})
    assert path.read_text() == '{"number":2}\n'


@pytest.mark.parametrize("damage", ["nonsense\n", "3\n"])
def test_damage_before_the_last_line_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "lines"
    path.write_text('{"number":1}\n' + damage + '{"number":2}\n')
    with pytest.raises(InputError, match="lines:2: the file is damaged"):
        list(read_json_lines(path))


def test_unwanted_lines_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    with JsonLines(path) as file:
        for number in range(5):
            file.append({"number": number})
    keep_json_lines(path, lambda line: line["number"] % 2 == 0)
    assert [line["number"] for line in read_json_lines(path)] == [0, 2, 4]


def test_a_cleared_file_goes_on_at_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    with JsonLines(path) as file:
        file.append({"number": 1})
        file.clear()
        file.append({"number": 2})
    assert list(read_json_lines(path)) == [{"number": 2}]


def test_a_folder_is_locked_until_the_lock_is_closed(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(InputError, match="another process is at work"):
        locked(tmp_path)
    locked(tmp_path).close()


def test_locking_a_file_leaves_its_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("content")
    lock = try_lock(path)
    assert lock is not None and try_lock(path) is None
    lock.close()
    assert path.read_text() == "content"


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = "import sys, os; from pathlib import Path; from oclgen.support.files import locked\n"
    code += "lock = locked(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=os.environ, check=False)
    assert done.returncode == -9
    locked(tmp_path).close()
