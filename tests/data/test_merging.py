"""A data set in parts: each draws problems of its own, and the merged one holds every problem once."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oclgen.cli import run as run_cli
from oclgen.data import dataset
from oclgen.data.collect import split_sizes
from oclgen.data.dataset import Row, Writer
from oclgen.data.merging import merge_datasets
from oclgen.errors import InputError
from oclgen.support.shards import Shard

DATA = ["data", "blocksworld", "--count", "7", "--val", "1", "--test", "2", "--workers", "1", "--set", "blocks=3..4"]
EXAMPLE = Row(0, "train", "p", "(define)", "", "", 3, "", 0.0, "toy", "{}", 1, "{}")


def part(folder: Path, number: int, *rows: tuple[int, str, str], **recipe: Any) -> Path:
    """A part with rows given by number, split and fingerprint."""
    writer = Writer(folder, {"seed": 1, "val": 1, "test": 2, "shard": f"{number}/2", **recipe}, "(define (domain d))")
    for index, split, fingerprint in rows:
        writer.append(replace(EXAMPLE, id=index, split=split, name=f"p{index}", fingerprint=fingerprint))
    writer.close()
    return folder


def rows(folder: Path) -> set[tuple[int, str, str]]:
    return {(row.id, row.split, row.fingerprint) for row in dataset.open_dataset(folder).rows()}


def test_parts_take_different_problems_and_their_share_of_each_split(tmp_path: Path) -> None:
    parts = [tmp_path / "one", tmp_path / "two"]
    for number, folder in enumerate(parts, start=1):
        assert run_cli([*DATA, "--out", str(folder), "--shard", f"{number}/2"]) == 0
        assert {row.id % 2 for row in dataset.open_dataset(folder).rows()} == {number - 1}
    counts = [[dataset.open_dataset(folder).count(split) for split in ("test", "val", "train")] for folder in parts]
    assert counts == [[1, 1, 2], [1, 0, 2]]
    assert run_cli(["merge", *map(str, parts), "--out", str(tmp_path / "all")]) == 0
    whole = dataset.open_dataset(tmp_path / "all")
    assert rows(tmp_path / "all") <= rows(parts[0]) | rows(parts[1])
    assert (whole.recipe["val"], whole.recipe["test"]) == (1, 2) and "shard" not in whole.recipe
    assert run_cli([*DATA, "--out", str(tmp_path / "all")]) == 0
    assert dataset.open_dataset(tmp_path / "all").count() - whole.count("failed") == 7


def test_a_problem_of_two_parts_is_kept_once_and_for_testing_first(tmp_path: Path) -> None:
    one = part(tmp_path / "one", 1, (0, "test", "a"), (2, "train", "b"), (4, "train", "c"), (6, "failed", "d"))
    two = part(tmp_path / "two", 2, (1, "train", "a"), (3, "val", "b"), (5, "train", "c"), (7, "train", "d"))
    merged = merge_datasets([one, two], tmp_path / "all")
    assert rows(tmp_path / "all") == {(0, "test", "a"), (3, "val", "b"), (4, "train", "c"), (7, "train", "d")}
    assert (merged.rows, merged.duplicates) == (4, 4)


def test_a_part_given_twice_counts_once(tmp_path: Path) -> None:
    one = part(tmp_path / "one", 1, (0, "test", "a"), (2, "train", "b"))
    assert merge_datasets([one, one], tmp_path / "all").rows == 2
    assert dataset.read_recipe(tmp_path / "all")["test"] == 2


def test_proofs_come_along(tmp_path: Path) -> None:
    folders = [part(tmp_path / str(number), number, (number, "test", str(number))) for number in (1, 2)]
    for number, folder in enumerate(folders):
        (folder / "optima.json").write_text(json.dumps({f"p{number}": number}))
    merge_datasets(folders, tmp_path / "all")
    assert json.loads((tmp_path / "all" / "optima.json").read_text()) == {"p0": 0, "p1": 1}


@pytest.mark.parametrize(("recipe", "reason"), [({"seed": 2}, "seed differ"), ({"shard": "2/3"}, "numbers of parts")])
def test_parts_of_different_data_sets_are_refused(tmp_path: Path, recipe: dict[str, Any], reason: str) -> None:
    folders = [part(tmp_path / "one", 1), part(tmp_path / "two", 2, **recipe)]
    with pytest.raises(InputError, match=f"not parts of one data set: .*{reason}"):
        merge_datasets(folders, tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_a_whole_data_set_is_no_part(tmp_path: Path) -> None:
    Writer(tmp_path / "one", {"seed": 1, "val": 0, "test": 0}, "(define (domain d))").close()
    with pytest.raises(InputError, match="made without --shard"):
        merge_datasets([tmp_path / "one"], tmp_path / "all")


def test_a_part_that_was_stopped_is_refused(tmp_path: Path) -> None:
    one = part(tmp_path / "one", 1, (0, "undecided", "a"))
    with pytest.raises(InputError, match="not finished"):
        merge_datasets([one], tmp_path / "all")


def test_nothing_is_written_over(tmp_path: Path) -> None:
    one = part(tmp_path / "one", 1, (0, "test", "a"))
    with pytest.raises(InputError, match="something here already"):
        merge_datasets([one], one)


def test_sizes_of_splits_add_up_over_the_shards(tmp_path: Path) -> None:
    shares = [split_sizes(tmp_path / "new", 1000, None, 7, Shard(number, 3)) for number in (1, 2, 3)]
    assert shares == [(17, 3), (17, 2), (16, 2)]
