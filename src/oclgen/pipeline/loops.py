"""Loops of self-improvement while there is time: search the training problems, learn from what is found, keep the new
model unless it is worse on problems that it has not learned from. One that is as good has met more states, dead ends
among them, which shows on larger problems.

    WORK/loop-1/plan.json       its share of the time
        searches.jsonl          one line per finished search
        data/  training/        what it learned from, and the training run
        model/                  the candidate
        choice.jsonl            the candidate on the problems that choose among models
        outcome.json            whether it was kept, and whether it was better
    WORK/choice-0.jsonl         the trained model on the same problems
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oclgen.data.dataset import DEAD_END, TRAIN, Row
from oclgen.encoding.kinds import RELATIONAL
from oclgen.improve.searching import Searched, SearchJob, search
from oclgen.improve.settings import ExtraExamples, Searching
from oclgen.improve.training_data import best_searches, example_rows, store
from oclgen.learn.settings import read_settings
from oclgen.learn.train import train
from oclgen.pipeline.clock import LEAST_LOOP, Clock
from oclgen.pipeline.evaluation import SEARCH, EvaluationJob, EvaluationResult, Score, evaluate
from oclgen.pipeline.gathering import NO_PLAN, Plans, training_rows
from oclgen.pipeline.installing import SearchChoice, make_model
from oclgen.pipeline.off_plan import problem_of, some
from oclgen.pipeline.sizes import finetuning_settings
from oclgen.pipeline.source import Say
from oclgen.support.files import JsonLines, read_json, read_json_lines, write_json
from oclgen.support.parallel import Workers, progress_note, run_unordered, worker_count
from oclgen.support.progress import Progress
from oclgen.support.settings import format_duration

SEARCHING, LEARNING, CHOOSING = 0.45, 0.35, 0.2
MOST_LOOP = 1200.0
LEAST_SECONDS, MOST_SECONDS = 1.0, 30.0
"""Of the search of one problem."""
MEMORY_MB = 4096
IDLE_LOOPS = 2
"""So many loops that made nothing better are enough."""
EXTRA = ExtraExamples(bank=True, plans=2, states=6, slack=2, dead_ends=2)


@dataclass(frozen=True)
class Improver:
    """What all loops share."""

    work: Path
    plans: Plans
    clock: Clock
    workers: Workers
    seed: int
    say: Say
    choice: SearchChoice | None = None
    """The search settings of the model before all loops, and so of all."""

    def folder(self, number: int) -> Path:
        return self.work / f"loop-{number}"

    def outcomes(self) -> list[dict[str, Any]]:
        """Of the finished loops."""
        found: list[dict[str, Any]] = []
        while (path := self.folder(len(found) + 1) / "outcome.json").exists():
            found.append(read_json(path))
        return found

    def current(self) -> Path:
        """The model folder of the last loop that was kept, or of the training before all loops."""
        kept = [number for number, outcome in enumerate(self.outcomes(), 1) if outcome["kept"]]
        return self.folder(kept[-1]) / "model" if kept else self.work / "model"

    def loops(self, end: float) -> Iterator[Path]:
        """Run loops until `end` on the clock, or until more of them would bring nothing; yields each model that is
        kept."""
        while not self.settled():
            number = len(self.outcomes()) + 1
            seconds = self.planned(number, end - self.clock.spent)
            if seconds is None:
                return
            before = self.current()
            self.run(number, seconds, before)
            if self.current() != before:
                yield self.current()

    def settled(self) -> bool:
        """Whether all problems that choose are solved and the last loops made nothing better."""
        last = self.outcomes()[-IDLE_LOOPS:]
        settled = len(last) == IDLE_LOOPS and last[-1]["all_solved"] and not any(outcome["better"] for outcome in last)
        if settled:
            self.say(f"self-improvement ends early: all is solved, and {IDLE_LOOPS} loops in a row made nothing better")
        return settled

    def planned(self, number: int, left: float) -> float | None:
        """Seconds for a loop, as it was begun if it was; None where there is no time for another."""
        path = self.folder(number) / "plan.json"
        if path.exists():
            return min(float(read_json(path)["seconds"]), max(left, LEAST_LOOP))
        if left < LEAST_LOOP:
            return None
        seconds = min(MOST_LOOP, left if left < 3 * LEAST_LOOP else max(left / 3, 3 * LEAST_LOOP))
        path.parent.mkdir(exist_ok=True)
        write_json(path, {"seconds": round(seconds, 1)})
        return seconds

    def run(self, number: int, seconds: float, before: Path) -> None:
        """One loop, or the rest of one."""
        folder = self.folder(number)
        folder.mkdir(exist_ok=True)
        self.say(f"loop {number}: {format_duration(seconds)} of searching, learning and choosing")
        if not (folder / "data").exists():
            self.search(number, SEARCHING * seconds, before)
            self.current_score(CHOOSING * seconds)
            rows = training_rows(list(self.examples(number)), list(self.validation()))
            recipe = {**self.plans.data.provenance(), "improved": {"iteration": number, "method": SEARCH}}
            store(rows, folder / "data", recipe, self.plans.data.domain_text)
        if not (folder / "model").exists():
            self.learn(folder, LEARNING * seconds, before)
        self.choose(number, CHOOSING * seconds)

    def search(self, number: int, seconds: float, model: Path) -> None:
        """Search training problems, in another order each time, until the time is up."""
        path, rows = self.folder(number) / "searches.jsonl", self.problems(number)
        known = {line["problem"] for line in read_json_lines(path)}
        left = [row for row in rows if row.id not in known]
        limit = min(MOST_SECONDS, max(LEAST_SECONDS, seconds * worker_count(self.workers) / len(rows)))
        end = self.clock.spent + seconds * len(left) / len(rows)
        searching = Searching(profile="extended", time_limit=f"{limit:.2f}s", memory_mb=MEMORY_MB)
        data = self.plans.data

        def jobs() -> Iterator[SearchJob]:
            for row in left:
                if self.clock.spent > end:
                    return
                options = data.translate_options
                yield SearchJob(row, data.domain_text, model, searching, EXTRA, self.seed + number, options)

        progress = Progress(len(rows), len(known), "problem")
        with JsonLines(path) as lines:
            for done, result in enumerate(run_unordered(search, jobs(), self.workers), len(known) + 1):
                lines.append(asdict(result))
                at_most = f"at most {format_duration(end - self.clock.spent)}"
                progress.show(done, progress_note(self.workers, at_most))
        progress.close()
        searches = self.searches(number)
        better = sum(each.solved and each.length < each.known for each in searches)
        dead_ends = sum(len(each.dead_ends) for each in searches)
        self.say(
            f"loop {number}: searched {len(searches)} problems: {better} better plans"
            + (f", {dead_ends} dead ends" if dead_ends else "")
        )

    def problems(self, number: int) -> list[Row]:
        """Training problems, and at most as many others for which the teacher's limits were too small."""
        rows = self.plans.rows(TRAIN)
        rows += some(self.plans.hard(), len(rows), self.seed, number)
        random.Random(f"{self.seed}/{number}").shuffle(rows)
        return rows

    def searches(self, number: int) -> list[Searched]:
        return [Searched.from_json(line) for line in read_json_lines(self.folder(number) / "searches.jsonl")]

    def examples(self, number: int) -> Iterator[Row]:
        """Each training problem with the best plan known, and what the searches found beside it. The teacher's plans
        from states beside its own stay only where no search has found one as short: elsewhere they are too long, or
        leave it to chance which of several shortest plans is meant."""
        rows: Mapping[int, Row] = {row.id: row for row in self.plans.rows(TRAIN) + self.plans.hard()}
        best = best_searches(each for past in range(1, number + 1) for each in self.searches(past))
        found = (row for row in example_rows(best, rows, SEARCH) if row.length < NO_PLAN)
        yield from found
        yield from (row for row in rows.values() if row.id not in best and row.length < NO_PLAN)
        own = {each.problem for each in best.values() if each.solved and each.length <= each.known}
        yield from (row for row in self.plans.off_plan() if row.outcome == DEAD_END or problem_of(row) not in own)

    def validation(self) -> Iterator[Row]:
        """The problems that choose, with the best plans that any model found, the newest of equal ones: a teacher's
        plans would prefer the checkpoints that have learned least."""
        best = {row.id: row for row in self.plans.choosing()}
        loops = (self.folder(number) / "choice.jsonl" for number in range(1, len(self.outcomes()) + 1))
        for path in (self.work / "choice-0.jsonl", *loops):
            for found in (EvaluationResult(**line) for line in read_json_lines(path)):
                row = best[found.problem]
                if found.length is not None and found.length <= row.length:
                    best[row.id] = replace(row, plan=found.plan, length=found.length)
        yield from (row for row in best.values() if row.length < NO_PLAN)

    def learn(self, folder: Path, seconds: float, before: Path) -> None:
        run = folder / "training"
        begun = (run / "state.pt").exists()
        start = read_settings(self.work / "training" / "settings.json")
        asked = finetuning_settings(start, before / RELATIONAL.name, folder / "data", seconds)
        settings = read_settings(run / "settings.json") if begun else asked
        outcome = train(settings, run, resume=begun)
        if outcome.reason != "interrupted":
            make_model(run / "best", folder / "model", self.choice)
        if outcome.told_to_end:
            raise KeyboardInterrupt  # saved; whoever sent the signal meant the whole command

    def choose(self, number: int, seconds: float) -> None:
        """Keep the candidate unless it is worse than the model before."""
        before = self.current_score(seconds)
        after = self.score(self.folder(number) / "model", self.folder(number) / "choice.jsonl", seconds / 2)
        kept = not after.worse_than(before)
        problems = len(self.plans.choosing())
        outcome = {
            "kept": kept,
            "better": after.better_than(before),
            "before": before.text(problems),
            "after": after.text(problems),
            "all_solved": len((after if kept else before).lengths) == problems,
        }
        write_json(self.folder(number) / "outcome.json", outcome)
        self.say(f"loop {number}: {outcome['after']} (before: {outcome['before']}): {'kept' if kept else 'not kept'}")

    def current_score(self, seconds: float) -> Score:
        kept = [past for past, outcome in enumerate(self.outcomes(), 1) if outcome["kept"]]
        path = self.folder(kept[-1]) / "choice.jsonl" if kept else self.work / "choice-0.jsonl"
        return self.score(self.current(), path, seconds / 2)

    def score(self, model: Path, path: Path, seconds: float) -> Score:
        """The same seconds for each problem in all loops, so that scores can be compared."""
        rows = self.plans.choosing()
        limits = self.work / "choice.json"
        if not limits.exists():
            limit = min(MOST_SECONDS, max(LEAST_SECONDS, seconds * worker_count(self.workers) / len(rows)))
            write_json(limits, {"seconds": round(limit, 2)})
        each = float(read_json(limits)["seconds"])
        jobs = [EvaluationJob(model, self.plans.data.domain_text, row, SEARCH, each, self.seed) for row in rows]
        return Score.of(evaluate(path, jobs, self.workers, lambda: False))
