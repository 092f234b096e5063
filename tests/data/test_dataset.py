import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from oclgen.data import dataset
from oclgen.data.dataset import Row, Writer
from oclgen.errors import InputError

RECIPE = {"format": 1, "seed": 1}
DOMAIN = "(define (domain d))"
ROW = Row(
    id=0,
    split="train",
    name="p0",
    problem="(define (problem p0))",
    fingerprint="00",
    plan="; cost = 0 (unit cost)\n",
    length=0,
    outcome="completed",
    seconds=0.5,
    teacher="lama-first",
    parameters='{"blocks": 3}',
    seed=1,
    versions="{}",
)


def row(number: int, split: str = "train") -> Row:
    return replace(ROW, id=number, split=split, name=f"p{number}", fingerprint=f"{number:02x}")


def write(folder: Path, *rows: Row) -> None:
    writer = Writer(folder, RECIPE, DOMAIN)
    for item in rows:
        writer.append(item)
    writer.close()


def abandon(writer: Writer) -> None:
    """What the system does when a process is killed: it lets go of its files, nothing more."""
    writer._journal.close()
    writer._lock.close()


def test_rows_come_back_as_they_were_stored(tmp_path: Path) -> None:
    rows = [row(0, "test"), row(1, "val"), row(2), row(3, "failed"), row(4)]
    write(tmp_path, *rows)
    stored = dataset.open_dataset(tmp_path)
    assert list(stored.rows()) == rows
    assert list(stored.rows("train")) == [rows[2], rows[4]]
    assert [stored.count(split) for split in dataset.SPLITS] == [2, 1, 1, 1]
    assert stored.count() == 5
    assert stored.recipe == RECIPE
    assert stored.domain_text == DOMAIN


def test_the_fingerprint_is_of_the_problems_whatever_became_of_them(tmp_path: Path) -> None:
    write(tmp_path / "one", row(0, "test"), row(1), row(2))
    write(tmp_path / "other", row(2, "failed"), row(0, "test"), row(1))
    write(tmp_path / "less", row(0, "test"), row(1))
    one, other, less = (dataset.open_dataset(tmp_path / name).provenance() for name in ("one", "other", "less"))
    assert one == other and one["problems"] == 3 and one.items() >= RECIPE.items()
    assert less["fingerprint"] != one["fingerprint"]


def test_a_data_set_made_from_another_keeps_the_others_fingerprint(tmp_path: Path) -> None:
    write(tmp_path / "drawn", row(0), row(1))
    drawn = dataset.open_dataset(tmp_path / "drawn").provenance()
    writer = Writer(tmp_path / "made", drawn, DOMAIN)
    writer.append(row(7))
    writer.close()
    assert dataset.open_dataset(tmp_path / "made").provenance() == drawn


def test_a_part_is_written_when_enough_rows_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "PART_ROWS", 2)
    write(tmp_path, *map(row, range(5)))
    assert [part.name for part in dataset.parts(tmp_path)] == [f"part-{number:06}.parquet" for number in range(3)]
    assert [item.id for item in dataset.open_dataset(tmp_path).rows()] == list(range(5))


def test_a_part_is_written_when_enough_time_has_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "PART_SECONDS", -1.0)
    write(tmp_path, row(0), row(1))
    assert len(dataset.parts(tmp_path)) == 2


def test_pandas_reads_the_parts(tmp_path: Path) -> None:
    write(tmp_path, row(0), row(1))
    frame = pd.read_parquet(tmp_path / "parts")
    assert list(frame["name"]) == ["p0", "p1"]
    assert frame.dtypes["id"] == "int64" and frame.dtypes["length"] == "int32"


def test_finished_rows_survive_a_kill_before_their_part_is_written(tmp_path: Path) -> None:
    writer = Writer(tmp_path, RECIPE, DOMAIN)
    writer.append(row(0))
    abandon(writer)
    write(tmp_path, row(1))
    assert [item.id for item in dataset.open_dataset(tmp_path).rows()] == [0, 1]


def test_a_half_written_last_line_is_cut_off(tmp_path: Path) -> None:
    writer = Writer(tmp_path, RECIPE, DOMAIN)
    writer.append(row(0))
    abandon(writer)
    journal = tmp_path / "journal.jsonl"
    journal.write_text(journal.read_text() + '{"id": 1, "spl')
    again = Writer(tmp_path, RECIPE, DOMAIN)
    assert set(again.fingerprints) == {0}
    again.append(row(1))
    abandon(again)
    write(tmp_path)
    assert [item.id for item in dataset.open_dataset(tmp_path).rows()] == [0, 1]


def test_a_kill_between_part_and_journal_doubles_nothing(tmp_path: Path) -> None:
    writer = Writer(tmp_path, RECIPE, DOMAIN)
    writer.append(row(0))
    journal = (tmp_path / "journal.jsonl").read_text()
    writer.close()
    (tmp_path / "journal.jsonl").write_text(journal)
    write(tmp_path, row(1))
    assert [item.id for item in dataset.open_dataset(tmp_path).rows()] == [0, 1]


def test_a_part_that_was_not_renamed_is_no_part(tmp_path: Path) -> None:
    write(tmp_path, row(0))
    (tmp_path / "parts" / ".part-000001.parquet.tmp").write_bytes(b"half")
    assert dataset.open_dataset(tmp_path).count() == 1
    assert len(pd.read_parquet(tmp_path / "parts")) == 1


def test_another_recipe_is_refused(tmp_path: Path) -> None:
    write(tmp_path, row(0))
    with pytest.raises(InputError, match=r"another recipe: seed 1 \(now 2\)"):
        Writer(tmp_path, {**RECIPE, "seed": 2}, DOMAIN)


def test_another_domain_is_refused_but_not_another_comment(tmp_path: Path) -> None:
    write(tmp_path, row(0))
    Writer(tmp_path, RECIPE, "; the same\n(define  (domain D))").close()
    with pytest.raises(InputError, match="differs from the domain"):
        Writer(tmp_path, RECIPE, "(define (domain e))")


def test_two_writers_at_once_are_refused(tmp_path: Path) -> None:
    writer = Writer(tmp_path, RECIPE, DOMAIN)
    with pytest.raises(InputError, match="another process"):
        Writer(tmp_path, RECIPE, DOMAIN)
    writer.close()


def test_a_folder_without_a_data_set_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a data set"):
        dataset.open_dataset(tmp_path)
    (tmp_path / "recipe.json").write_text("{")
    with pytest.raises(InputError, match=r"recipe\.json"):
        dataset.open_dataset(tmp_path)


def test_a_broken_part_is_named(tmp_path: Path) -> None:
    write(tmp_path, row(0))
    (tmp_path / "parts" / "part-000000.parquet").write_bytes(b"PAR1 no, it is not")
    with pytest.raises(InputError, match=r"part-000000\.parquet: this part cannot be read"):
        list(dataset.open_dataset(tmp_path).rows())


def test_the_recipe_is_plain_json(tmp_path: Path) -> None:
    write(tmp_path)
    assert json.loads((tmp_path / "recipe.json").read_text()) == RECIPE
