"""Self-improvement: search for better plans, finetune on them, and go on with the better models.

Each iteration takes new training problems whose teacher's plans are known, searches every one of them with the present
models, keeps the better plan, finetunes the network (or both) on the result, and tries the new policy on the test
problems.

    OUT/settings.json  loop.json        the loop, and Best-of-N after each of its iterations
    OUT/problems/                       the problems, where the loop draws them itself
    OUT/iteration-0/                    the model to start from; iteration-1/ and so on are models, too:
        relational/                     the checkpoint (or policy/ and heuristic/), for `--model OUT/iteration-1`
        problems.json                   the numbers of its problems in the data set
        searches.jsonl                  one line per finished search
        data/                           the data set that it learned from
        training/relational/ ...        the training run (or both)
        evaluation.jsonl  metrics.json  Best-of-N on the test problems

Each of these appears whole, or line by line, and a resumed loop does only what is not there yet.

Paper: Section 5.4, Appendix "Self-improvement Details".
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oclgen.data import dataset
from oclgen.data.dataset import Dataset
from oclgen.errors import InputError
from oclgen.improve import finetune, metrics, pool, training_data
from oclgen.improve.evaluation import Trial, Tried, try_policy
from oclgen.improve.pool import Choice
from oclgen.improve.searching import Searched, SearchJob, search
from oclgen.improve.settings import ImproveSettings, check_unchanged, save_settings
from oclgen.model_folders import model_domain
from oclgen.planner import prepare
from oclgen.relational_checkpoint import load_any
from oclgen.support.files import JsonLines, locked, read_json, read_json_lines, write_json
from oclgen.support.parallel import Workers, local_count, progress_note, run_unordered


@dataclass(frozen=True, slots=True)
class StageProgress:
    """How far a stage is: of `total` things, `done`."""

    stage: str
    done: int
    total: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A line about what has been reached."""

    text: str


Report = StageProgress | Finding


def improve(
    settings: ImproveSettings, folder: Path, model: Path | None, workers: Workers, resume: bool = False
) -> Iterator[Report]:
    """Run the loop, or go on with the one in `folder`; reports as it goes."""
    begin(settings, folder, model, resume)
    with locked(folder):
        loop = ImprovementLoop(settings, folder, workers)
        yield from loop.draw_problems(0)
        loop.check()
        yield from loop.evaluate(0)
        for number in range(1, settings.n_loop + 1):
            yield from loop.draw_problems(number)
            yield from loop.search(number)
            yield from loop.learn(number)
            yield from loop.evaluate(number)


def begin(settings: ImproveSettings, folder: Path, model: Path | None, resume: bool) -> None:
    """A new folder with the model to start from, or an old one with the same settings."""
    saved = folder / "settings.json"
    if resume:
        if not saved.exists():
            raise InputError(f"{folder}: no loop to resume here (there is no settings.json)")
        check_unchanged(saved, settings)
    elif saved.exists():
        raise InputError(f"{folder}: holds a loop already; go on with it by --resume, or give another --out")
    elif model is None:
        raise InputError("a new loop needs a model to start from: give --model DIR")
    else:
        model_domain(model)
        for kind in finetune.kinds(model):
            load_any(model / kind, kind)
        finetune.copy_model(model, folder / "iteration-0")
    save_settings(saved, settings)


class ImprovementLoop:
    """The stages of an iteration; each does what is left to do."""

    def __init__(self, settings: ImproveSettings, folder: Path, workers: Workers) -> None:
        self.settings, self.out, self.workers = settings, folder, workers
        if not settings.problems.path and not settings.problems.domain:
            raise InputError("no problems: give --data DIR, problems.path or problems.domain")

    def folder(self, number: int) -> Path:
        return self.out / f"iteration-{number}"

    @property
    def data(self) -> Dataset:
        return dataset.open_dataset(self.settings.problems.path or self.out / "problems")

    def draw_problems(self, number: int) -> Iterator[Report]:
        """Problems for an iteration, if the loop makes its own; then the choice among them."""
        folder, asked = self.folder(number), self.settings.problems
        folder.mkdir(exist_ok=True)
        if (folder / "problems.json").exists():
            return
        if not asked.path:
            for tally in pool.draw(asked, self.out / "problems", number, self.workers):
                yield StageProgress("drawing problems", tally.done, tally.total)
        earlier = [self.choice(before) for before in range(number)]
        chosen = pool.choose(self.data, asked, earlier, self.generator(number, "problems"))
        if short := pool.shortfall(chosen, asked, earlier=number > 0):
            yield Finding(f"iteration {number}: {short}")
        chosen.save(folder / "problems.json")

    def choice(self, number: int) -> Choice:
        return Choice.load(self.folder(number) / "problems.json")

    def generator(self, *names: object) -> random.Random:
        """Randomness that depends on nothing but the seed and what it is for."""
        return random.Random("/".join(map(str, (self.settings.seed, *names))))

    def check(self) -> None:
        """Refuse settings that the searches would refuse, before hours are spent."""
        settings, choice = self.settings, self.choice(0)
        row = pool.rows_of(self.data, choice.test[:1])[choice.test[0]]
        search, trial = settings.search, settings.evaluation
        for method, profile, overrides in (
            (search.method, search.profile, search.in_force),
            ("best-of-n", trial.profile, trial.settings),
        ):
            prepare(
                self.data.domain_text,
                row.problem,
                method=method,
                model=self.folder(0),
                profile=profile,
                settings=overrides,
            )
        finetune.check_window(settings, self.folder(0))

    def search(self, number: int) -> Iterator[Report]:
        """Search all problems of an iteration with the models of the one before."""
        choice, before = self.choice(number), self.folder(number - 1)
        data, asked = self.data, self.settings

        def job(row: dataset.Row) -> SearchJob:
            seed = self.generator(number, "search", row.id).getrandbits(32)
            extra, options = asked.extra_in_force, data.translate_options
            return SearchJob(row, data.domain_text, before, asked.search, extra, seed, options)

        path = self.folder(number) / "searches.jsonl"
        yield from self.recorded(f"iteration {number}: searching", path, search, job, (*choice.train, *choice.val))
        if not (self.folder(number) / "data").exists():
            yield Finding(metrics.search_line(number, self.searches(number)))

    def searches(self, number: int) -> list[Searched]:
        found = [Searched.from_json(line) for line in read_json_lines(self.folder(number) / "searches.jsonl")]
        return sorted(found, key=lambda searched: searched.problem)

    def recorded(
        self,
        stage: str,
        path: Path,
        work: Callable[[Any], Any],
        job: Callable[[dataset.Row], Any],
        numbers: Iterable[int],
    ) -> Iterator[Report]:
        """Do a job for each problem that has no line in a file yet, and write the line."""
        wanted = list(numbers)
        finished = {line["problem"] for line in read_json_lines(path)}
        left = [number for number in wanted if number not in finished]
        if not left:
            return
        rows = pool.rows_of(self.data, left)
        done, unsolved = len(wanted) - len(left), 0
        yield StageProgress(stage, done, len(wanted))
        with JsonLines(path) as lines:
            for result in run_unordered(work, (job(rows[number]) for number in left), self.workers):
                lines.append(asdict(result))
                done += 1
                unsolved += not result.solved
                note = progress_note(self.workers, f"{unsolved} unsolved")
                yield StageProgress(stage, done, len(wanted), note)

    def learn(self, number: int) -> Iterator[Report]:
        """Make the data set of an iteration and finetune on it."""
        folder = self.folder(number)
        if not (folder / "data").exists():
            counts = training_data.store(self.rows(number), folder / "data", self.recipe(number), self.data.domain_text)
            listed = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            yield Finding(f"iteration {number}: learning from {counts.total()} plans ({listed})")
        for kind in finetune.finetune(self.settings, self.folder(number - 1), folder, local_count(self.workers)):
            yield Finding(f"iteration {number}: the {kind} network is finetuned")
        finetune.copy_solve_settings(self.folder(number - 1), folder)

    def rows(self, number: int) -> Iterator[dataset.Row]:
        """What is learned in an iteration."""
        first = 1 if self.settings.extra.bank else number
        best = training_data.best_searches(each for past in range(first, number + 1) for each in self.searches(past))
        rows = pool.rows_of(self.data, best)
        yield from training_data.example_rows(best, rows, self.settings.search.method)
        count = round(self.settings.extra.teacher * len(self.choice(number).train))
        yield from training_data.teacher_rows(self.data, best, count, self.generator(number, "teacher"))

    def recipe(self, number: int) -> dict[str, Any]:
        improved = {"iteration": number, "method": self.settings.search.method}
        return {**self.data.provenance(), "improved": improved}

    def evaluate(self, number: int) -> Iterator[Report]:
        """Best-of-N on the test problems; then the metrics of the iteration and of the loop so far."""
        data, model = self.data, self.folder(number)

        def trial(row: dataset.Row) -> Trial:
            seed = self.generator("evaluation", row.id).getrandbits(32)
            return Trial(row, data.domain_text, model, self.settings.evaluation, seed)

        path, stage = model / "evaluation.jsonl", f"iteration {number}: best of {self.settings.evaluation.samples}"
        if not (model / "metrics.json").exists():
            yield from self.recorded(stage, path, try_policy, trial, self.choice(number).test)
            searches = self.searches(number) if number else []
            found = metrics.of_iteration(number, self.settings, model, self.tried(number), searches)
            write_json(model / "metrics.json", found)
        table = read_json(model / "metrics.json")
        self.summarise()
        yield Finding(metrics.evaluation_line(table))

    def tried(self, number: int) -> list[Tried]:
        found = [Tried(**line) for line in read_json_lines(self.folder(number) / "evaluation.jsonl")]
        return sorted(found, key=lambda tried: tried.problem)

    def summarise(self) -> None:
        """All finished iterations, also those beyond `n_loop` of a loop that was longer before."""
        finished = range(len(list(self.out.glob("iteration-*/metrics.json"))))
        tables = [read_json(self.folder(number) / "metrics.json") for number in finished]
        found = metrics.of_loop(self.settings, self.data, tables, [self.tried(number) for number in finished])
        write_json(self.out / "loop.json", found)
