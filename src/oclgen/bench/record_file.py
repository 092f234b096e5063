"""The file of records, `records.jsonl`: whole lines, on disk before the next run begins, readable after any crash.

A line is appended with one write and one fsync. A benchmark killed in the middle of a write leaves an incomplete last
line, which is cut off when the file is opened again. Damage anywhere else is refused.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from oclgen.bench.record import Record, from_json
from oclgen.errors import InputError

FILE_NAME = "records.jsonl"


class RecordFile:
    """Appends records and knows which ids it holds and how many of them are broken runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise InputError(f"{folder}: another benchmark is running in this folder") from None
        self.ids: set[str] = set()
        self.broken = 0
        try:
            cut_torn_line(self.path)
            for line in read_lines(self.path):
                self.count(line)
        except InputError:
            os.close(self._file)
            raise

    def append(self, line: Mapping[str, Any]) -> None:
        data = as_line(line)
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)
        self.count(line)

    def count(self, line: Mapping[str, Any]) -> None:
        self.ids.add(str(line["id"]))
        self.broken += line.get("outcome") == "broken"

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)


def as_line(line: Mapping[str, Any]) -> bytes:
    return (json.dumps(line, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n").encode()


def cut_torn_line(path: Path) -> None:
    """Drop what follows the last line end."""
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        keep = end_of_last_line(file.fileno(), size)
        if keep < size:
            file.truncate(keep)
            os.fsync(file.fileno())


def end_of_last_line(file: int, size: int, block: int = 1 << 16) -> int:
    """Offset just after the last line end, looking backwards block by block."""
    end = size
    while end > 0:
        start = max(0, end - block)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line as a dict; a torn last line is skipped."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, start=1):
            if not text.endswith("\n"):
                return
            try:
                line = json.loads(text)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}:{number}: not a record ({error}); the file is damaged") from error
            if not isinstance(line, dict) or "id" not in line:
                raise InputError(f"{path}:{number}: not a record; the file is damaged")
            yield line


def read_records(folder: Path) -> Iterator[Record]:
    """Every record of a benchmark folder."""
    path = folder / FILE_NAME
    if not path.exists():
        raise InputError(f"{path}: no records here; run `oclgen bench --out {folder}` first")
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield from_json(line)
        except ValueError as error:
            raise InputError(f"{path}:{number}: {error}") from error
