"""Join the parts of a data set that `oclgen data --shard I/N` made on several machines.

Parts draw different problems of one stream and do not know of each other, so the same problem may be in two of them,
perhaps once to train on and once to test. It is kept once: for testing before validation before training, solved before
failed, and of equals the first in the stream. The result can be extended by `oclgen data` without `--shard`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oclgen.data.dataset import FAILED, TEST, TRAIN, VAL, Writer, check_same_domain, columns, open_dataset, read_recipe
from oclgen.errors import InputError
from oclgen.support.files import read_json, read_json_lines, replacing_folder, write_json
from oclgen.support.shards import Shard

RANKS = {split: rank for rank, split in enumerate((TEST, VAL, TRAIN, FAILED))}
OF_PART = ("shard", VAL, TEST)
"""What differs between the recipes of parts: which one it is, and its share of the smaller splits."""
OPTIMA = "optima.json"


@dataclass(frozen=True, slots=True)
class MergedRows:
    """What a merge did."""

    rows: int
    duplicates: int


def merge_datasets(folders: Sequence[Path], out: Path) -> MergedRows:
    """Make the data set `out`; it appears whole."""
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out}: there is something here already; give --out a new folder")
    recipe = merged_recipe(folders)
    domain_text = open_dataset(folders[0]).domain_text
    for folder in folders:
        check_same_domain(folder, domain_text)
        if any(read_json_lines(folder / "journal.jsonl")):
            raise InputError(f"{folder}: this part is not finished; run its command again")
    kept, total = choose(folders)
    with replacing_folder(out) as made:
        writer = Writer(made, recipe, domain_text)
        for number, folder in enumerate(folders):
            for row in open_dataset(folder).rows():
                if kept[row.fingerprint] == (number, row.id):
                    writer.append(row)
        writer.close()
        if optima := merged_optima(folders):
            write_json(made / OPTIMA, optima, indent=0)
    return MergedRows(len(kept), total - len(kept))


def merged_recipe(folders: Sequence[Path]) -> dict[str, Any]:
    """That of the whole; refuses folders that are not parts of one."""
    parts: dict[Shard, dict[str, Any]] = {}
    for folder in folders:
        recipe = read_recipe(folder)
        if "shard" not in recipe:
            raise InputError(f"{folder}: not a part of a data set (it was made without --shard)")
        parts.setdefault(Shard.parse(recipe["shard"]), recipe)
        different = differences(read_recipe(folders[0]), recipe)
        if different:
            raise InputError(f"{folders[0]} and {folder} are not parts of one data set: {', '.join(different)} differ")
    common = {key: value for key, value in read_recipe(folders[0]).items() if key != "shard"}
    return {**common, **{split: sum(recipe[split] for recipe in parts.values()) for split in (VAL, TEST)}}


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    found = [key for key in {**one, **other} if key not in OF_PART and one.get(key) != other.get(key)]
    counts = {Shard.parse(recipe["shard"]).count for recipe in (one, other)}
    return [*found, "the numbers of parts"] if len(counts) > 1 else found


def choose(folders: Sequence[Path]) -> tuple[dict[str, tuple[int, int]], int]:
    """For each fingerprint the folder and number of the row to keep; and how many rows there are."""
    best: dict[str, tuple[int, int, int]] = {}
    total = 0
    for number, folder in enumerate(folders):
        for row in columns(folder, ["id", "fingerprint", "split"]):
            total += 1
            candidate = RANKS[row["split"]], row["id"], number
            best[row["fingerprint"]] = min(best.get(row["fingerprint"], candidate), candidate)
    return {fingerprint: (number, row) for fingerprint, (_, row, number) in best.items()}, total


def merged_optima(folders: Sequence[Path]) -> dict[str, int]:
    """Proofs are kept under the names of problems, which are the same in all parts."""
    return {
        name: length
        for folder in folders
        if (folder / OPTIMA).exists()
        for name, length in read_json(folder / OPTIMA).items()
    }
