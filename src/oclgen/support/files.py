"""Files and folders that are whole at any moment, JSON lines that survive a crash, and locks.

A file or folder is written under a temporary name beside its place and then renamed. Of a file that grows line by line
a crash can tear only the last line; it is cut off when the file is opened again. A lock ends with its process.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from oclgen.errors import InputError

BLOCK = 1 << 16


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write a file to; it takes the place of `path` unless an exception is raised."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def replacing_folder(path: Path, keep: bool = False) -> Iterator[Path]:
    """A new, empty folder to fill; it takes the place of `path` unless an exception is raised.

    With `keep` a folder that another process put there in the meantime stays.
    """
    made = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    try:
        yield made
        if not (keep and path.exists()):
            move_folder(made, path)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def move_folder(made: Path, path: Path) -> None:
    """A folder cannot be renamed onto another, so the old one steps aside first."""
    old = path.with_name(f".{path.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    made.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def copy_folder(source: Path, target: Path) -> None:
    """A copy that appears whole."""
    with replacing_folder(target) as made:
        shutil.copytree(source, made, dirs_exist_ok=True)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any, indent: int | None = 2) -> None:
    write_text(path, json.dumps(value, indent=indent) + "\n")


def read_json(path: Path) -> Any:
    """Raises `InputError` naming the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


class JsonLines:
    """A file to which lines are appended, each with one write. `durable`: on disk before `append` returns."""

    def __init__(self, path: Path, durable: bool = False) -> None:
        self.path = path
        self._durable = durable
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        cut_torn_line(self._file)

    def append(self, line: Mapping[str, Any]) -> None:
        data = json_line(line)
        while data:
            data = data[os.write(self._file, data) :]
        if self._durable:
            os.fsync(self._file)

    def clear(self) -> None:
        os.ftruncate(self._file, 0)

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> "JsonLines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def cut_torn_line(file: int) -> None:
    """Drop what follows the last line end."""
    size = os.fstat(file).st_size
    keep = end_of_last_line(file, size)
    if keep < size:
        os.ftruncate(file, keep)
        os.fsync(file)


def end_of_last_line(file: int, size: int) -> int:
    """Offset just after the last line end, looking backwards block by block."""
    end = size
    while end > 0:
        start = max(0, end - BLOCK)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line as a table, none where there is no file; a torn last line is passed over, any other damage is
    an `InputError`."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for number, text in enumerate(file, start=1):
            if not text.endswith("\n"):
                return
            try:
                line = json.loads(text)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}:{number}: the file is damaged ({error})") from None
            if not isinstance(line, dict):
                raise InputError(f"{path}:{number}: the file is damaged (not a JSON object)")
            yield line


def keep_json_lines(path: Path, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Rewrite a file of JSON lines with the wanted ones only."""
    write_json_lines(path, [line for line in read_json_lines(path) if wanted(line)])


def write_json_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.writelines(map(json_line, lines))


def json_line(line: Mapping[str, Any]) -> bytes:
    return (json.dumps(line, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n").encode()


def try_lock(path: Path) -> TextIO | None:
    """An exclusive lock on a file, held until it is closed or this process ends; None where another process has it."""
    lock = path.open("a")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def locked(folder: Path, name: str = "lock") -> TextIO:
    """The lock of a folder in which only one process may work at a time."""
    lock = try_lock(folder / name)
    if lock is None:
        raise InputError(f"{folder}: another process is at work in this folder")
    return lock
