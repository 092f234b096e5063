"""A data set on disk: solved problems as Parquet parts that are only ever added to.

    DIR/domain.pddl  DIR/recipe.json  DIR/parts/part-000000.parquet ...  DIR/optima.json

Any Parquet reader opens `DIR/parts`. A finished row goes into `journal.jsonl` at once and from there, with
others, into a new part that appears by rename; so a process that is killed at any moment loses no finished row
and leaves no half-written part.
"""

import fcntl
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from oclgen.errors import InputError
from oclgen.pddl import source

SPLITS = ("train", "val", "test", "failed")
PART_ROWS = 512
PART_SECONDS = 300.0
BATCH_ROWS = 256


@dataclass(frozen=True, slots=True)
class Row:
    """One problem and what the teacher made of it; solved if `length` is not negative."""

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

    def provenance(self) -> dict[str, Any]:
        """The recipe, with the number of problems and a fingerprint of them all, solved or not, that tells whether
        the same ones were drawn again. A recipe that has these already (of lessons from other data) keeps them."""
        drawn = sorted((row["id"], row["fingerprint"]) for row in columns(self.path, ["id", "fingerprint"]))
        return {"problems": len(drawn), "fingerprint": digest(drawn), **self.recipe}


def open(path: Path | str) -> Dataset:
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
    try:
        recipe: dict[str, Any] = json.loads((path / "recipe.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: not a data set (there is no recipe.json); make one with: oclgen data") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path / 'recipe.json'}: {error}") from None
    return recipe


def write_text(path: Path, text: str) -> None:
    """All or nothing: under a temporary name, then renamed."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


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
            write_text(path / "recipe.json", json.dumps(recipe, indent=2) + "\n")
        self.fingerprints = {row["id"]: row["fingerprint"] for row in columns(path, ["id", "fingerprint"])}
        self._journal_path = path / "journal.jsonl"
        self._pending = recover_journal(self._journal_path, self.fingerprints)
        self._journal = self._journal_path.open("a", encoding="utf-8")
        self._part_started = time.monotonic()

    def append(self, row: Row) -> None:
        self.fingerprints[row.id] = row.fingerprint
        self._pending += 1
        self._journal.write(json.dumps(asdict(row)) + "\n")
        self._journal.flush()
        if self._pending >= PART_ROWS or time.monotonic() - self._part_started > PART_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Turn the journal into a part; a row that is in both counts once (see `recover_journal`)."""
        if self._pending:
            number = 1 + max((int(part.stem.split("-")[1]) for part in parts(self.path)), default=-1)
            part = self.path / "parts" / f"part-{number:06}.parquet"
            temporary = part.with_name(f".{part.name}.tmp")
            pq.write_table(read_journal(self._journal_path), temporary)
            temporary.replace(part)
            self._journal.truncate(0)
            self._pending = 0
        self._part_started = time.monotonic()

    def close(self) -> None:
        self.flush()
        self._journal.close()
        self._lock.close()


def locked(path: Path, name: str = "lock") -> TextIO:
    """Held until closed or until this process ends, however it ends."""
    lock = (path / name).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InputError(f"{path}: another process is at work in this folder") from None
    return lock


def recover_journal(path: Path, fingerprints: dict[int, str]) -> int:
    """Keep the whole lines whose rows no part has yet, add these rows to `fingerprints`, and count them."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
    rows = [(json.loads(line), line) for line in lines]
    kept = [(row, line) for row, line in rows if row["id"] not in fingerprints]
    fingerprints.update((row["id"], row["fingerprint"]) for row, _ in kept)
    write_text(path, "".join(line for _, line in kept))
    return len(kept)


def read_journal(path: Path) -> pa.Table:
    """In one block, because a row must not lie in two."""
    block = pa_json.ReadOptions(block_size=path.stat().st_size + 1)
    return pa_json.read_json(path, block, pa_json.ParseOptions(explicit_schema=SCHEMA))


def check_same_recipe(path: Path, stored: dict[str, Any], asked: dict[str, Any]) -> None:
    different = [key for key in {**stored, **asked} if stored.get(key) != asked.get(key)]
    if different:
        listed = ", ".join(f"{key} {stored.get(key)!r} (now {asked.get(key)!r})" for key in different)
        raise InputError(f"{path}: holds a data set with another recipe: {listed}; give the same, or another folder")


def check_same_domain(path: Path, asked: str) -> None:
    stored = source.read_file(path / "domain.pddl", "domain").text
    if " ".join(source.lines(stored)).split() != " ".join(source.lines(asked)).split():
        raise InputError(f"{path / 'domain.pddl'}: differs from the domain asked for; give another folder")
