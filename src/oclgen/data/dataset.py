"""A data set on disk: solved problems as Parquet parts that are only ever added to.

    DIR/domain.pddl  DIR/recipe.json  DIR/parts/part-000000.parquet ...  DIR/optima.json

Any Parquet reader opens `DIR/parts`. A finished row goes into `journal.jsonl` at once and from there, with
others, into a new part that appears by rename; so a process that is killed at any moment loses no finished row
and leaves no half-written part.
"""

import hashlib
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from oclgen.errors import InputError
from oclgen.pddl.reading import source
from oclgen.support.files import (
    JsonLines,
    locked,
    read_json,
    read_json_lines,
    replacing,
    write_json,
    write_json_lines,
    write_text,
)

TRAIN, VAL, TEST, FAILED = SPLITS = ("train", "val", "test", "failed")
DEAD_END = "dead end"
"""The outcome of a row whose problem has no plan, as the teacher proved; `length` is what it counts as."""
UNDECIDED = "undecided"
"""The split of a solved row as long as earlier problems are being solved; it stays in the journal until then."""
PART_ROWS = 512
PART_SECONDS = 300.0
BATCH_ROWS = 256


@dataclass(frozen=True, slots=True)
class Row:
    """One problem and the teacher's result; solved, or a dead end to learn from, if `length` is not negative."""

    id: int
    split: str
    name: str
    problem: str
    fingerprint: str
    plan: str
    length: int
    outcome: str
    seconds: float
    teacher: str
    parameters: str
    seed: int
    versions: str


TYPES = {"id": pa.int64(), "length": pa.int32(), "seconds": pa.float64(), "seed": pa.int64()}
SCHEMA = pa.schema([(field.name, TYPES.get(field.name, pa.string())) for field in fields(Row)])


class Dataset:
    """What has been stored in a folder; every pass reads the parts that are there by then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recipe = read_recipe(path)
        self.domain_text = source.read_file(path / "domain.pddl", "domain").text

    def rows(self, split: str | None = None) -> Iterator[Row]:
        """Rows of a split (default: all), in the order they were stored, a few at a time in memory."""
        names = [field.name for field in fields(Row)]
        return (Row(**row) for row in columns(self.path, names) if split in (None, row["split"]))

    def count(self, split: str | None = None) -> int:
        return sum(row["split"] == split or split is None for row in columns(self.path, ["split"]))

    @property
    def translate_options(self) -> tuple[str, ...]:
        """What Fast Downward's translator was given for these problems."""
        return tuple(self.recipe.get("translate_options", ()))

    def provenance(self) -> dict[str, Any]:
        """The recipe, with the number of problems and a fingerprint of them all, solved or not, that tells whether
        the same ones were drawn again. A recipe that has these already (made from other data) keeps them."""
        drawn = sorted((row["id"], row["fingerprint"]) for row in columns(self.path, ["id", "fingerprint"]))
        return {"problems": len(drawn), "fingerprint": digest(drawn), **self.recipe}


def open_dataset(path: Path | str) -> Dataset:
    """Raises `InputError` where there is no data set."""
    return Dataset(Path(path))


def digest(drawn: list[tuple[int, str]]) -> str:
    lines = "".join(f"{number} {fingerprint}\n" for number, fingerprint in drawn)
    return hashlib.sha256(lines.encode()).hexdigest()[:32]


def parts(path: Path) -> list[Path]:
    return sorted((path / "parts").glob("part-*.parquet"))


def columns(path: Path, names: list[str]) -> Iterator[dict[str, Any]]:
    """Some columns of all rows, a few rows at a time."""
    for part in parts(path):
        try:
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=names):
                    yield from batch.to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{part}: this part cannot be read: {' '.join(str(error).split())}") from None


def read_recipe(path: Path) -> dict[str, Any]:
    if not (path / "recipe.json").exists():
        raise InputError(f"{path}: not a data set (there is no recipe.json); make one with: oclgen data")
    recipe: dict[str, Any] = read_json(path / "recipe.json")
    return recipe


class Writer:
    """The one process that adds to a folder, new or left by an earlier run."""

    def __init__(self, path: Path, recipe: dict[str, Any], domain_text: str) -> None:
        (path / "parts").mkdir(parents=True, exist_ok=True)
        self.path = path
        if (path / "recipe.json").exists():
            check_same_recipe(path, read_recipe(path), recipe)
            check_same_domain(path, domain_text)
        self._lock = locked(path)
        if not (path / "recipe.json").exists():
            write_text(path / "domain.pddl", domain_text)
            write_json(path / "recipe.json", recipe)
        self.fingerprints: dict[int, str] = {}
        self.splits: dict[int, str] = {}
        for row in columns(path, ["id", "fingerprint", "split"]):
            self.fingerprints[row["id"]] = row["fingerprint"]
            self.splits[row["id"]] = sys.intern(row["split"])
        self._next_part = 1 + max((int(part.stem.split("-")[1]) for part in parts(path)), default=-1)
        self._pending: dict[int, Row] = {}
        self._journal_path = path / "journal.jsonl"
        self._recover()
        self._part_started = time.monotonic()

    def append(self, row: Row) -> None:
        """Add a row; an undecided one may be given again with its split."""
        self._keep(row)
        self._journal.append(asdict(row))
        decided = len(self._pending) - self._undecided
        if decided >= PART_ROWS or time.monotonic() - self._part_started > PART_SECONDS:
            self.flush()

    def undecided(self) -> list[Row]:
        return [row for row in self._pending.values() if row.split == UNDECIDED] if self._undecided else []

    def _keep(self, row: Row) -> None:
        known = self._pending.get(row.id)
        self._undecided += (row.split == UNDECIDED) - (known is not None and known.split == UNDECIDED)
        self.fingerprints[row.id] = row.fingerprint
        self.splits[row.id] = row.split
        self._pending[row.id] = row

    def _recover(self) -> None:
        """Take over the rows of a journal that no part has yet."""
        self._undecided = 0
        in_parts = set(self.fingerprints)
        for line in read_json_lines(self._journal_path):
            if line["id"] not in in_parts:
                self._keep(Row(**line))
        self._rewrite_journal()

    def _rewrite_journal(self) -> None:
        write_json_lines(self._journal_path, map(asdict, self._pending.values()))
        self._journal = JsonLines(self._journal_path)

    def flush(self) -> None:
        """Turn the decided rows of the journal into a part; a row that is in both counts once (see `_recover`)."""
        ready = [row for row in self._pending.values() if row.split != UNDECIDED]
        if ready:
            with replacing(self.path / "parts" / f"part-{self._next_part:06}.parquet") as temporary:
                pq.write_table(pa.Table.from_pylist(list(map(asdict, ready)), SCHEMA), temporary)
            self._next_part += 1
            self._pending = {row.id: row for row in self.undecided()}
            self._journal.close()
            self._rewrite_journal()
        self._part_started = time.monotonic()

    def close(self) -> None:
        self.flush()
        self._journal.close()
        self._lock.close()


def check_same_recipe(path: Path, stored: dict[str, Any], asked: dict[str, Any]) -> None:
    different = [key for key in {**stored, **asked} if stored.get(key) != asked.get(key)]
    if different:
        listed = ", ".join(f"{key} {stored.get(key)!r} (now {asked.get(key)!r})" for key in different)
        raise InputError(f"{path}: holds a data set with another recipe: {listed}; give the same, or another folder")


def check_same_domain(path: Path, asked: str) -> None:
    stored = source.read_file(path / "domain.pddl", "domain").text
    if " ".join(source.lines(stored)).split() != " ".join(source.lines(asked)).split():
        raise InputError(f"{path / 'domain.pddl'}: differs from the domain asked for; give another folder")
