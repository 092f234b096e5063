"""Problems with plans: the teacher solves what the user gave, and the result is divided once.

WORK/data/        every problem with its plan, or why there is none
WORK/files.json   how many files there were
WORK/splits.json  which problems are learned from, which choose among models, and which only measure
WORK/earlier.json the same from before the teacher went on
WORK/plans/       the data set to train on, states beside the plans included
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from math import ceil
from pathlib import Path

from oclgen.data import dataset
from oclgen.data.collect import collect, decide_all
from oclgen.data.dataset import FAILED, TEST, TRAIN, VAL, Dataset, Row
from oclgen.data.problems import Problems
from oclgen.data.teacher import TeacherSettings
from oclgen.errors import InputError
from oclgen.improve.training_data import store
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.off_plan import off_plan_rows
from oclgen.pipeline.source import Say
from oclgen.search.anytime import Ending
from oclgen.support.files import read_json, write_json
from oclgen.support.parallel import Workers, progress_note, worker_count
from oclgen.support.progress import Progress
from oclgen.support.settings import format_duration

DRAWN = 1_000_000
"""More problems than a generator will be asked for; the time ends first."""
MOST_HELD_OUT = 50
LEAST_LIMIT, MOST_LIMIT = 3.0, 60.0
"""Seconds of the teacher for a problem."""
LEAST_SOLVED, LEAST_TRIED = 10, 20
"""The teacher's time ends later than planned where there are fewer problems."""
HARD_HELD_OUT, MOST_HARD_HELD_OUT = 5, 5
"""One in so many problems that were too hard for the teacher chooses among models, and at most so many in all."""
NO_PLAN = 1_000_000
"""Stands for the length of the teacher's plan where it found none."""
MEMORY_LIMIT = 4 << 30
VALIDATION_EXAMPLES = 60
"""A few problems are validated at several random steps of their plans."""


class NothingSolvedError(InputError):
    """The teacher has not solved a single problem."""


class Plans:
    """The solved problems of a folder, by split, and the data set made from them."""

    def __init__(self, work: Path) -> None:
        self.data: Dataset = dataset.open_dataset(work / "data")
        self.path = work / "plans"
        self._work = work
        self._splits: dict[str, str] = read_json(work / "splits.json")

    def rows(self, split: str) -> list[Row]:
        rows = (row for row in self.data.rows() if self._splits.get(str(row.id)) == split)
        return [replace(row, split=split) for row in rows]

    def off_plan(self) -> list[Row]:
        """States beside the plans of training problems, as problems with plans."""
        return off_plan_rows(self._work)

    def failed(self) -> list[Row]:
        """Problems that the teacher did not solve; those that have no plan, as it proved, are none of its failures."""
        return [row for row in self.data.rows(FAILED) if row.outcome != Ending.EXHAUSTED.value]

    def _too_hard(self) -> list[Row]:
        """Problems for which the teacher's limits were too small."""
        hard = [row for row in self.failed() if row.outcome in (Ending.TIME.value, Ending.MEMORY.value)]
        return [replace(row, split=TRAIN, length=NO_PLAN) for row in hard]

    def hard(self) -> list[Row]:
        """Those of them to learn from."""
        return [row for number, row in enumerate(self._too_hard(), 1) if number % HARD_HELD_OUT]

    def choosing(self) -> list[Row]:
        """What chooses among models: problems with plans, and some that were too hard for the teacher."""
        return self.validation() + self._too_hard()[HARD_HELD_OUT - 1 :: HARD_HELD_OUT][:MOST_HARD_HELD_OUT]

    def held_out(self) -> list[Row]:
        """What the model has not seen; with one problem only, that one."""
        return self.rows(TEST) or self.rows(VAL) or self.rows(TRAIN)

    def validation(self) -> list[Row]:
        return self.rows(VAL) or self.rows(TRAIN)

    def counts(self) -> Counter[str]:
        return Counter(self._splits.values())


def gather(source: Problems, work: Path, clock: Clock, seconds: float, seed: int, workers: Workers, say: Say) -> Plans:
    """Ask the teacher until there are no more problems or its time is over; then divide what is solved."""
    if not (work / "splits.json").exists():
        ask_teacher(source, work, clock, seconds, seed, workers, say)
        write_json(work / "files.json", {"files": source.size})
        earlier = read_json(work / "earlier.json") if (work / "earlier.json").exists() else {}
        write_json(work / "splits.json", divided(work / "data", earlier.items()))
    tell_changes(source, work, say)
    plans = Plans(work)
    counts = plans.counts()
    unsolvable = plans.data.count(FAILED) - len(plans.failed())
    say(
        f"problems: {counts[TRAIN]} to learn from, {counts[VAL]} to choose among models, {counts[TEST]} to measure; "
        f"{len(plans.failed())} without a plan" + (f", {unsolvable} unsolvable" if unsolvable else "")
    )
    return plans


def tell_changes(source: Problems, work: Path, say: Say) -> None:
    """Files that came after the problems were divided are not learned from."""
    before = read_json(work / "files.json")["files"] if (work / "files.json").exists() else source.size
    if source.size != before:
        say(f"problems: {before} files when this was begun, {source.size} now; another --out learns from all of them")


def store_examples(plans: Plans) -> None:
    """The data set to train on: the plans of the problems and those from the states beside them."""
    recipe = {**plans.data.provenance(), "pipeline": "learn", "off_plan": len(plans.off_plan())}
    rows = training_rows(plans.rows(TRAIN) + plans.off_plan(), plans.validation())
    store(rows, plans.path, recipe, plans.data.domain_text)


def training_rows(train: list[Row], validation: list[Row]) -> Iterator[Row]:
    yield from train
    for _ in range(ceil(VALIDATION_EXAMPLES / len(validation))):
        yield from (replace(row, split=VAL) for row in validation)


def ask_teacher(
    source: Problems, work: Path, clock: Clock, seconds: float, seed: int, workers: Workers, say: Say
) -> None:
    data = work / "data"
    limit = teacher_limit(seconds, source.size, worker_count(workers))
    if (data / "recipe.json").exists():
        limit = dataset.read_recipe(data)["time_limit"]
    teacher = TeacherSettings("lama-first", limit, MEMORY_LIMIT, source.translate_options)
    count = DRAWN if source.size is None else source.size
    say(f"teacher: {teacher.teacher}, up to {format_duration(limit)} a problem, {format_duration(seconds)} in all")
    end = clock.spent + seconds
    with closing(collect(source, data, teacher, count=count, val=0, test=0, seed=seed, workers=workers)) as tallies:
        tally = next(tallies)
        progress = Progress(tally.total, tally.done, "problem")
        for tally in tallies:
            at_most = f"at most {format_duration(end - clock.spent)}"
            progress.show(tally.done, progress_note(workers, f"{tally.failed} failed", at_most))
            enough = tally.solved >= LEAST_SOLVED or tally.solved + tally.failed >= LEAST_TRIED
            if clock.spent > end and enough:
                break
        else:
            write_json(work / "teacher.json", {"complete": True})
        progress.close()
    if tally.repeated:
        say(f"teacher: {tally.repeated} problems repeat others and were left out")
    decide_all(data)


def teacher_limit(seconds: float, problems: int | None, workers: int) -> float:
    """Short enough to try all problems of a folder, and of many problems more than a few."""
    share = seconds / 10 if problems is None else min(seconds / min(10, problems), seconds * workers / problems)
    return min(MOST_LIMIT, max(LEAST_LIMIT, share))


def divided(data: Path, earlier: Iterable[tuple[str, str]]) -> dict[str, str]:
    """As `divide`; where nothing was solved nothing stays, so that corrected problems and more time begin anew."""
    try:
        return divide(data, earlier)
    except NothingSolvedError:
        shutil.rmtree(data)
        raise


def divide(data: Path, earlier: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Splits by the number of problems that have plans: a tenth each to choose and to measure, all others to learn.
    Splits from earlier stay, so that nothing that was learned from is held out."""
    found = [(row["id"], row["split"], row["outcome"]) for row in dataset.columns(data, ["id", "split", "outcome"])]
    solved = sorted(number for number, split, _ in found if split != FAILED)
    if not solved:
        raise NothingSolvedError(no_plans(Counter(outcome for _, _, outcome in found)))
    share = min(MOST_HELD_OUT, max(1, len(solved) // 10))
    sizes = {TEST: share if len(solved) > 2 else 0, VAL: share if len(solved) > 1 else 0}
    known = dict(earlier)
    counts = Counter(known.values())
    new = [str(number) for number in solved if str(number) not in known]
    held_out = [split for split, size in sizes.items() for _ in range(size - counts[split])]
    return known | dict(zip(new, held_out + [TRAIN] * len(new), strict=False))


def no_plans(outcomes: Counter[str]) -> str:
    if not outcomes:
        return "there is no problem that can be read; put problems into training/"
    if set(outcomes) == {Ending.EXHAUSTED.value}:
        return f"none of the problems has a plan, as the teacher proved ({outcomes.total()} tried); look at their goals"
    named = {Ending.EXHAUSTED.value: "unsolvable", Ending.TIME.value: "out of time"}
    listed = ", ".join(f"{count} {named.get(outcome, outcome)}" for outcome, count in outcomes.most_common(3))
    return (
        f"the teacher solved none of the {outcomes.total()} problems ({listed}); "
        "give smaller problems, plans in training_plans/, or more time"
    )
