"""One benchmark on several machines: split its problems into shards, then merge the folders of records.

A shard holds whole problems: all methods run on a problem in the same place, so that comparisons are fair. Each shard
gets its share of every domain and problem set. The split depends on the config alone.
"""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oclgen.bench.problems import LIST_NAME, BenchProblem
from oclgen.bench.record import record_key
from oclgen.bench.record_file import FILE_NAME, read_folder
from oclgen.errors import InputError
from oclgen.support.files import JsonLines, read_json, replacing

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` (from 1) of `count`."""

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError(f"shard {self.number}/{self.count}: the first number must lie between 1 and the second")

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """`3/8`."""
        found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if found is None:
            raise InputError(f"{text!r} is not a shard; write I/N, for example 3/8")
        return cls(int(found[1]), int(found[2]))

    def of(self, problems: Iterable[BenchProblem]) -> list[BenchProblem]:
        """The problems of this shard. Groups start at different shards, so that small groups spread evenly."""
        ranks: dict[tuple[str, str], int] = {}
        chosen = []
        for problem in problems:
            group = problem.set, problem.domain
            rank = ranks.get(group, len(ranks))
            ranks[group] = rank + 1
            if rank % self.count == self.number - 1:
                chosen.append(problem)
        return chosen


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did."""

    records: int
    duplicates: int


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Join the records of several folders in `out`, which can be reported and continued like any benchmark folder."""
    if (out / FILE_NAME).exists():
        raise InputError(f"{out}: there are records here already; give --out a new folder")
    check_configs(folders)
    check_problems(folders)
    lines = [(folder, [line for line, _ in read_folder(folder)]) for folder in folders]
    check_labels(lines)
    kept: dict[str, Line] = {}
    for _, found in lines:
        for line in found:
            if line["id"] not in kept or kept[line["id"]].get("outcome") == "broken":
                kept[line["id"]] = line
    write(folders, out, kept.values())
    return Merged(len(kept), sum(len(found) for _, found in lines) - len(kept))


def check_configs(folders: Iterable[Path]) -> None:
    """Configs of the same name must be the same."""
    seen: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            first = seen.setdefault(path.name, path)
            if first.read_bytes() != path.read_bytes():
                raise InputError(f"{first} and {path} differ: these folders are not parts of one benchmark")


def check_problems(folders: Iterable[Path]) -> None:
    """The same sources must have given the same problems."""
    seen: dict[str, tuple[Path, Any]] = {}
    for folder in folders:
        path = folder / LIST_NAME
        if path.exists():
            stored = read_json(path)
            first, problems = seen.setdefault(stored["sources"], (path, stored["problems"]))
            if problems != stored["problems"]:
                raise InputError(f"{first} and {path} list different problems for the same config")


def check_labels(lines: Iterable[tuple[Path, list[Line]]]) -> None:
    """One label must mean one thing: no two folders may hold different runs of a label on a problem and seed."""
    seen: dict[tuple[object, ...], tuple[Path, str]] = {}
    for folder, found in lines:
        latest = {key: line for line in found if (key := record_key(line)) is not None}
        for key, line in latest.items():
            first, known = seen.setdefault(key, (folder, line["id"]))
            if known != line["id"]:
                place = f"{line['label']!r} on {line['domain']}/{line['problem']}"
                raise InputError(f"{first} and {folder} ran {place} with different settings, models or limits")


def write(folders: Sequence[Path], out: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Problems and configs first, the records last, so that a merge that was interrupted can be started again."""
    out.mkdir(parents=True, exist_ok=True)
    for folder in reversed(folders):
        for path in [*folder.glob("*.toml"), folder / LIST_NAME]:
            if path.exists():
                shutil.copyfile(path, out / path.name)
        if (folder / "problems").is_dir():
            shutil.copytree(folder / "problems", out / "problems", dirs_exist_ok=True)
    with replacing(out / FILE_NAME) as temporary, JsonLines(temporary) as file:
        for line in lines:
            file.append(line)
