"""Finished work as JSON lines: each on disk when it is done, so that a killed process loses only what was in flight."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Journal:
    """Appends lines; opening it cuts off a half-written last one."""

    def __init__(self, path: Path) -> None:
        whole = whole_lines(path)
        self._file = path.open("ab")
        os.truncate(path, len(whole))

    def append(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def whole_lines(path: Path) -> bytes:
    data = path.read_bytes() if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in whole_lines(path).splitlines())
