"""One benchmark on several machines: split its problems into shards, then merge the folders of records.

A shard holds whole problems: all methods run on a problem in the same place, so that comparisons are fair. Each shard
gets its share of every domain and problem set. The split depends on the config alone.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oclgen.bench.problems import LIST_NAME, BenchProblem
from oclgen.bench.record_file import FILE_NAME, read_folder, read_lines
from oclgen.errors import InputError
from oclgen.support.files import JsonLines, read_json, replacing
from oclgen.support.shards import Shard

ROW = ("kind", "set", "domain", "label", "time_limit")
VARIANT = ("method", "profile", "asked_settings", "model_digest", "memory_limit", "iterations")
"""What must be the same in all folders for records that end up in one row of a table."""


def problems_of(shard: Shard, problems: Iterable[BenchProblem]) -> list[BenchProblem]:
    """The problems of a shard. Groups start at different shards, so that small groups spread evenly."""
    ranks: dict[tuple[str, str], int] = {}
    chosen = []
    for problem in problems:
        group = problem.set, problem.domain
        rank = ranks.get(group, len(ranks))
        ranks[group] = rank + 1
        if shard.has(rank):
            chosen.append(problem)
    return chosen


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did."""

    records: int
    duplicates: int


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Join the records of several folders in `out`, which can be reported and continued like any benchmark folder.

    Reads the records twice instead of keeping them in memory.
    """
    if (out / FILE_NAME).exists():
        raise InputError(f"{out}: there are records here already; give --out a new folder")
    check_configs(folders)
    check_problems(folders)
    check_variants(folders)
    kept, total = choose(folders)
    out.mkdir(parents=True, exist_ok=True)
    copy_problems(folders, out)
    with replacing(out / FILE_NAME) as temporary, JsonLines(temporary) as file:
        for folder in folders:
            for number, line in enumerate(read_lines(folder / FILE_NAME)):
                if kept[line["id"]] == (folder, number):
                    file.append(line)
    return Merged(len(kept), total - len(kept))


def choose(folders: Iterable[Path]) -> tuple[dict[str, tuple[Path, int]], int]:
    """Folder and line of the record to keep for each id (the first one that is not broken), and the number of lines."""
    kept: dict[str, tuple[Path, int]] = {}
    broken: set[str] = set()
    total = 0
    for folder in folders:
        for number, (line, _) in enumerate(read_folder(folder)):
            total += 1
            if line["id"] not in kept or (line["id"] in broken and line.get("outcome") != "broken"):
                kept[line["id"]] = folder, number
                broken.discard(line["id"])
                if line.get("outcome") == "broken":
                    broken.add(line["id"])
    return kept, total


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


def check_variants(folders: Iterable[Path]) -> None:
    """A label must mean the same method, settings and model in all folders."""
    seen: dict[tuple[object, ...], tuple[Path, object]] = {}
    for folder in folders:
        latest: dict[tuple[object, ...], object] = {}
        for line, _ in read_folder(folder):
            if line["kind"] in ("run", "estimate"):
                latest[tuple(line.get(name) for name in ROW)] = {name: line.get(name) for name in VARIANT}
        for row, variant in latest.items():
            first, known = seen.setdefault(row, (folder, variant))
            if known != variant:
                raise InputError(
                    f"{first} and {folder} ran {row[3]!r} on {row[2]} with different methods, settings or models"
                )


def copy_problems(folders: Sequence[Path], out: Path) -> None:
    """Problems and configs, so that the merged benchmark can be continued."""
    for folder in reversed(folders):
        for path in [*folder.glob("*.toml"), folder / LIST_NAME]:
            if path.exists():
                shutil.copyfile(path, out / path.name)
        if (folder / "problems").is_dir():
            shutil.copytree(folder / "problems", out / "problems", dirs_exist_ok=True)
