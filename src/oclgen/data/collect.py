"""Make a data set: take problems, drop duplicates, have the teacher solve the rest, keep validated plans.

Problems are taken in order and compared by fingerprint with all before them, across splits. Of those that the teacher
solves, the first `test` in this order are the test split, the next `val` the validation split, all others are for
training. What the teacher fails on becomes a split of its own, and another problem is taken in its place. So the
problems and their splits depend only on what the teacher solves, not on the number of workers, interruptions, or
whether `count` was raised later.

Paper: Section 5 (data from LAMA-first, 20 minutes a problem), tab:results_subset (what the teacher fails on).
"""

import os
import shutil
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path

from oclgen.classical.planners import PLANNERS
from oclgen.data.dataset import FAILED, TEST, TRAIN, UNDECIDED, VAL, Row, Writer, read_recipe
from oclgen.data.problems import Problem, Problems
from oclgen.data.teacher import TeacherJob, TeacherResult, TeacherSettings, check_teacher, run_teacher
from oclgen.errors import OclgenError
from oclgen.pddl.fingerprint import problem_fingerprint
from oclgen.pddl.reading.problem import read_problem
from oclgen.pddl.reading.source import read_file
from oclgen.support.distinct import distinct
from oclgen.support.parallel import Workers, run_unordered
from oclgen.support.shards import WHOLE, Shard

MOST_FAILURES = 20
"""A run ends where the teacher fails on more problems than this, and on so many for each that it solves."""


@dataclass(slots=True)
class Tally:
    """Progress of a run. `solved` and `failed` count all rows; `repeated` those problems that are no others than these;
    `rows` (by split) and the seconds are of this run."""

    total: int = 0
    of_folder: bool = False
    solved: int = 0
    failed: int = 0
    repeated: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    teacher_seconds: float = 0.0
    worker_seconds: float = 0.0
    started: float = field(default_factory=time.process_time)

    @property
    def done(self) -> int:
        """Of `total`. Solved problems count; where all problems of a folder are taken, all that were looked at do."""
        return self.solved + self.failed + self.repeated if self.of_folder else self.solved

    def add(self, result: TeacherResult) -> None:
        self.teacher_seconds += result.teacher_seconds
        if result.pid != os.getpid():
            self.worker_seconds += result.own_seconds

    @property
    def own_share(self) -> float:
        """The share of processor time that is not the teacher's."""
        own = time.process_time() - self.started + self.worker_seconds
        return own / max(own + self.teacher_seconds, 1e-9)


def recipe(
    problems: Problems, teacher: TeacherSettings, seed: int, val: int, test: int, shard: Shard
) -> dict[str, object]:
    """Everything that the rows depend on; a folder holds rows of one recipe only."""
    settings = {**asdict(teacher), "translate_options": list(teacher.translate_options)}
    if teacher.teacher in PLANNERS:
        del settings["model"]
    part = {} if shard == WHOLE else {"shard": str(shard)}
    return {"format": 1, **problems.recipe, "seed": seed, "val": val, "test": test, **settings, **part}


def split_sizes(out: Path, count: int, val: int | None, test: int | None, shard: Shard = WHOLE) -> tuple[int, int]:
    """A shard's share. Sizes that were not given are those of the data set, if there is one, or else 5 % and at most
    1000."""
    stored = read_recipe(out) if (out / "recipe.json").exists() else {}
    default = shard.share(min(count // 20, 1000))
    given = {VAL: val, TEST: test}
    sizes = {split: stored.get(split, default) if size is None else shard.share(size) for split, size in given.items()}
    return sizes[VAL], sizes[TEST]


def collect(
    problems: Problems,
    out: Path,
    teacher: TeacherSettings,
    *,
    count: int,
    val: int,
    test: int,
    seed: int,
    workers: Workers,
    shard: Shard = WHOLE,
) -> Generator[Tally]:
    """Add rows until the folder holds `count` solved problems; yield the same tally before the first and after each.

    Each round draws as many problems as are missing, so there are never too many. The numbers are those of this
    shard, which takes every N-th problem.
    """
    check_teacher(teacher, problems.domain_text)
    writer = Writer(out, recipe(problems, teacher, seed, val, test, shard), problems.domain_text)
    try:
        collection = Collection(problems, teacher, writer, Splits(writer, val, test), count, seed, shard)
        yield collection.tally
        while collection.missing and not collection.exhausted:
            for result in run_unordered(run_teacher, collection.draw(), workers):
                collection.add(result)
                yield collection.tally
        collection.finish()
    finally:
        writer.close()


class Splits:
    """Decides the splits of solved rows, in the order of their problems."""

    def __init__(self, writer: Writer, val: int, test: int) -> None:
        self._writer = writer
        self._sizes = {TEST: test, VAL: val}
        self._counts = Counter(writer.splits.values())

    def next_split(self) -> str:
        return next((split for split, size in self._sizes.items() if self._counts[split] < size), TRAIN)

    def decide(self, new: Iterable[Row] = (), limit: float = inf) -> list[str]:
        """Store new rows and decide the splits of those before problem number `limit`, which must all be known by now.

        Where only training problems are missing, the order no longer matters.
        """
        decided = []
        known = self._writer.undecided()
        for row in sorted([*known, *new], key=lambda row: row.id):
            if row.id < limit or self.next_split() == TRAIN:
                decided.append(self.next_split())
                self._counts[decided[-1]] += 1
                self._writer.append(replace(row, split=decided[-1]))
            elif row not in known:
                self._writer.append(row)
        return decided


def decide_all(out: Path) -> None:
    """Give every solved row a split, although a run was stopped while problems before it were being solved."""
    stored = read_recipe(out)
    writer = Writer(out, stored, read_file(out / "domain.pddl", "domain").text)
    Splits(writer, stored["val"], stored["test"]).decide()
    writer.close()


class Collection:
    """The state of a run: what is stored, what the teacher is working on, and how far the stream has been read."""

    def __init__(
        self,
        problems: Problems,
        teacher: TeacherSettings,
        writer: Writer,
        splits: Splits,
        count: int,
        seed: int,
        shard: Shard,
    ) -> None:
        self.problems, self.teacher, self.writer, self.splits, self.seed = problems, teacher, writer, splits, seed
        self.count, self.shard = count, shard
        failed = Counter(writer.splits.values())[FAILED]
        size = None if problems.size is None else shard.share(problems.size)
        total = count if size is None else min(count, size)
        self.tally = Tally(total, total == size, len(writer.splits) - failed, failed)
        self.exhausted = False
        self._scratch = empty_scratch(writer.path)
        self._stored = dict(writer.fingerprints)
        self._open: set[int] = set()
        self._position = shard.number - 1
        self._new = distinct(self._stream(), self.fingerprint, self._stored.values())

    @property
    def missing(self) -> int:
        return max(0, self.count - self.tally.solved)

    def _stream(self) -> Iterator[Problem]:
        """The problems that are not stored; those before `_position` have been looked at."""
        while True:
            index = self._position
            problem = None if index in self._stored else self.problems.get(index)
            if problem is None and index not in self._stored:
                return
            self._position += self.shard.count
            if problem is not None:
                self.tally.repeated += 1  # until it turns out to be new
                yield problem

    def fingerprint(self, problem: Problem) -> str:
        info = read_problem(self.problems.domain_text, problem.file or problem.text)
        return problem_fingerprint(info, self.problems.meaningful_types)

    def draw(self) -> Iterator[TeacherJob]:
        """As many new problems as are missing."""
        for _ in range(self.missing):
            drawn = next(self._new, None)
            if drawn is None:
                self.exhausted = True
                return
            problem, fingerprint = drawn
            self.tally.repeated -= 1
            self._open.add(problem.index)
            yield TeacherJob(problem, self.problems.domain_text, fingerprint, self.seed, self.teacher, self._scratch)

    def add(self, result: TeacherResult) -> None:
        tally, row = self.tally, result.row
        self._open.discard(row.id)
        tally.add(result)
        if row.split == FAILED:
            self.writer.append(row)
            tally.failed += 1
            tally.rows[FAILED] += 1
            self.check_failures()
        else:
            tally.solved += 1
        solved = [row] if row.split == UNDECIDED else []
        tally.rows.update(self.splits.decide(solved, min([self._position, *self._open])))

    def check_failures(self) -> None:
        tally = self.tally
        if self.problems.size is None and tally.failed > MOST_FAILURES * (1 + tally.solved):
            raise OclgenError(
                f"{self.writer.path}: {self.teacher.teacher} solved only {tally.solved} of "
                f"{tally.solved + tally.failed} problems; give it more time, or draw smaller problems"
            )

    def finish(self) -> None:
        self.tally.rows.update(self.splits.decide())


def empty_scratch(out: Path) -> Path:
    """An empty folder for the teachers' files; files of a killed run are removed."""
    scratch = out / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    return scratch
