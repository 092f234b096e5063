"""Which problems an iteration works on: new ones first, chosen once and written down.

The data set may grow while a loop runs, so a choice is kept in `problems.json` and never made again. Training problems
come back only when all have had their turn; validation and test problems are the same in every iteration.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from oclgen.data import dataset
from oclgen.data.collect import Tally, collect
from oclgen.data.dataset import Dataset, Row
from oclgen.data.problems import problems as find_problems
from oclgen.data.teacher import TeacherSettings
from oclgen.errors import InputError
from oclgen.improve.settings import ProblemSettings
from oclgen.support.files import read_json, write_json
from oclgen.support.parallel import Workers
from oclgen.support.settings import parse_duration


@dataclass(frozen=True, slots=True)
class Choice:
    """Numbers of rows in the data set."""

    train: tuple[int, ...]
    val: tuple[int, ...]
    test: tuple[int, ...]

    def save(self, path: Path) -> None:
        write_json(path, asdict(self), indent=None)

    @classmethod
    def load(cls, path: Path) -> "Choice":
        table = read_json(path)
        return cls(**{split: tuple(ids) for split, ids in table.items()})


def draw(settings: ProblemSettings, folder: Path, loops: int, workers: Workers) -> Iterator[Tally]:
    """Make, or extend, the loop's own data set so that it has new problems for `loops` iterations."""
    source = find_problems(settings.domain, settings.seed, settings.ranges)
    limit = parse_duration(settings.time_limit)
    teacher = TeacherSettings(time_limit=limit, translate_options=source.translate_options)
    count = settings.test + settings.validation + loops * settings.per_loop
    yield from collect(
        source,
        folder,
        teacher,
        count=count,
        val=settings.validation,
        test=settings.test,
        seed=settings.seed,
        workers=workers,
    )


def choose(data: Dataset, settings: ProblemSettings, earlier: list[Choice], rng: random.Random) -> Choice:
    """The problems of the next iteration, after those of all earlier ones; iteration 0 has none to train on."""
    if not earlier:
        return Choice((), first(data, "val", settings.validation), first(data, "test", settings.test))
    used = Counter(number for choice in earlier for number in choice.train)
    train = numbers_of(data, "train")
    if not train:
        raise InputError(f"{data.path}: no problems in split 'train'")
    rng.shuffle(train)
    train.sort(key=lambda number: used[number])
    return Choice(tuple(train[: settings.per_loop]), earlier[0].val, earlier[0].test)


def shortfall(choice: Choice, settings: ProblemSettings, earlier: bool) -> str | None:
    """What to say where the data set has fewer problems than were asked for."""
    asked = {"train": settings.per_loop} if earlier else {"val": settings.validation, "test": settings.test}
    found = {split: len(getattr(choice, split)) for split in asked}
    short = {split: count for split, count in asked.items() if found[split] < count}
    listed = " and ".join(f"{found[split]} {split} problems ({count} asked for)" for split, count in short.items())
    return f"the data set has only {listed}" if short else None


def first(data: Dataset, split: str, count: int) -> tuple[int, ...]:
    found = tuple(numbers_of(data, split)[:count])
    if not found:
        raise InputError(f"{data.path}: no problems in split '{split}'")
    return found


def numbers_of(data: Dataset, split: str) -> list[int]:
    return [row["id"] for row in dataset.columns(data.path, ["id", "split"]) if row["split"] == split]


def rows_of(data: Dataset, numbers: Collection[int]) -> dict[int, Row]:
    """Rows by number."""
    wanted = set(numbers)
    return {row.id: row for row in data.rows() if row.id in wanted}
