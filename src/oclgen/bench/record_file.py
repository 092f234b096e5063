"""The file of records, `records.jsonl`: every record is on disk before the next run begins.

A benchmark killed in the middle of a write leaves an incomplete last line, which is cut off when the file is opened
again. Damage anywhere else is refused.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from oclgen.bench.record import Record, from_json, is_proof
from oclgen.errors import InputError
from oclgen.support.files import JsonLines, read_json_lines, try_lock

FILE_NAME = "records.jsonl"


class RecordFile:
    """Appends records and knows which ids it holds, how many of them are broken runs, and what is proved optimal."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE_NAME
        lock = try_lock(path)
        if lock is None:
            raise InputError(f"{folder}: another benchmark is running in this folder")
        self._lock = lock
        self._lines = JsonLines(path, durable=True)
        self.ids: set[str] = set()
        self.broken = 0
        self.optima: dict[str, int] = {}
        try:
            for line in read_lines(path):
                self.count(line)
        except InputError:
            self.close()
            raise

    def append(self, line: Mapping[str, Any]) -> None:
        self._lines.append(line)
        self.count(line)

    def count(self, line: Mapping[str, Any]) -> None:
        self.ids.add(str(line["id"]))
        self.broken += line.get("outcome") == "broken"
        if line.get("kind") == "optimum" or is_proof(line.get("method"), line.get("outcome"), line.get("ending")):
            self.optima[line["fingerprint"]] = line["length"]

    def close(self) -> None:
        self._lines.close()
        self._lock.close()

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line of a file of records."""
    for number, line in enumerate(read_json_lines(path), start=1):
        if "id" not in line:
            raise InputError(f"{path}:{number}: not a record; the file is damaged")
        yield line


def read_folder(folder: Path) -> Iterator[tuple[dict[str, Any], Record]]:
    """Every line of a benchmark folder, and the record that it is."""
    path = folder / FILE_NAME
    if not path.exists():
        raise InputError(f"{path}: no records here; run `oclgen bench --out {folder}` first")
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield line, from_json(line)
        except ValueError as error:
            raise InputError(f"{path}:{number}: {error}") from error


def read_records(folder: Path) -> Iterator[Record]:
    """Every record of a benchmark folder."""
    return (record for _, record in read_folder(folder))
