"""`oclgen learn`: from a folder with a domain and problems to a model, in the time the user has.

A quarter of the time at most goes into data: the teacher solves the problems (or draws more of them, where the
folder has a generator). Most of the rest trains the policy, then the heuristic; the last part solves problems that
neither has seen. Everything lies in OUT/work, and the same command again goes on where the last one stopped.
"""

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from oclgen.data import dataset
from oclgen.data.collect import Tally, collect, decide_all
from oclgen.data.dataset import Dataset, columns, read_recipe
from oclgen.data.example_store import open_store
from oclgen.data.problems import problems
from oclgen.data.teacher import TeacherSettings
from oclgen.domains import catalog
from oclgen.encoding import Vocabulary, build_vocabulary, pools_from_problems
from oclgen.errors import InputError
from oclgen.learn.export import ship
from oclgen.learn.settings import TrainingSettings, read_settings
from oclgen.learn.train import train
from oclgen.pddl.domain import read_domain
from oclgen.pddl.problem import read_problem
from oclgen.pipeline.evaluation import METHODS, evaluate, table
from oclgen.pipeline.sizes import heuristic_settings, policy_settings
from oclgen.support.files import read_json, write_json, write_text
from oclgen.support.settings import format_duration

DATA_SHARE = 0.25
POLICY_SHARE, HEURISTIC_SHARE = 0.65, 0.25  # of what data leaves over; the rest is for the evaluation
DRAWN = 1_000_000
"""More problems than a generator will be asked for; the time ends first."""
MOST_HELD_OUT = 50
MOST_SECONDS = 10.0  # for each problem of the evaluation
LEAST_PROBLEMS = 10
MEMORY_LIMIT = 4 << 30
SOLVE = """# Search settings that suit this model; any of them can be changed here.
max_tokens = {max_tokens}
confidence = 0.95
percentile = 10
"""


@dataclass(frozen=True, slots=True)
class LearnRequest:
    """What the user asked for."""

    name: str
    out: Path
    seconds: float
    workers: int
    seed: int

    @property
    def work(self) -> Path:
        return self.out / "work"

    @property
    def data(self) -> Path:
        return self.work / "data"


def learn(request: LearnRequest, say: Callable[[str], None]) -> bool:
    """Make or finish the model; false if it was interrupted on the way."""
    request.work.mkdir(parents=True, exist_ok=True)
    spent = gather(request, say)
    data = dataset.open_dataset(request.data)
    vocabulary = make_vocabulary(request, data)
    rest = max(1.0, request.seconds - spent)
    for settings in recipes(request, data, vocabulary, rest):
        run = request.work / settings.kind
        outcome = train(settings, run, resume=(run / "state.pt").exists())
        if outcome.reason == "interrupted":
            return False
        ship(run / "best", request.out / settings.kind)
    max_tokens = read_settings(request.work / "policy" / "settings.json").model.max_plan - 1
    write_text(request.out / "solve.toml", SOLVE.format(max_tokens=max_tokens))
    return True


def gather(request: LearnRequest, say: Callable[[str], None]) -> float:
    """Problems with plans, until there are no more or their share of the time is over; returns seconds spent."""
    clock = request.work / "clock.json"
    past = read_json(clock) if clock.exists() else {}
    spent = before = float(past.get("data", 0.0))
    limit = DATA_SHARE * request.seconds
    started = time.monotonic()
    if max(before, float(past.get("complete_for", 0.0))) < limit:
        say(f"data: the teacher solves problems of {request.name} for up to {format_duration(limit - before)}")
        with closing(collecting(request, limit)) as tallies:
            for _ in tallies:
                spent = before + time.monotonic() - started
                write_json(clock, {"data": spent})
                if spent > limit:
                    break
        decide_all(request.data)
        write_json(clock, {"data": spent, "complete_for": limit})
    counts = Counter(row["split"] for row in columns(request.data, ["split"]))
    say(f"data: {', '.join(f'{count} {split}' for split, count in counts.items())}")
    return spent


def collecting(request: LearnRequest, limit: float) -> Generator[Tally]:
    source = problems(request.name, request.seed, ())
    if (request.data / "recipe.json").exists():
        stored = read_recipe(request.data)
        val, test, time_limit = stored["val"], stored["test"], stored["time_limit"]
    else:
        val, test = split_sizes(request.name)
        time_limit = min(300.0, max(10.0, limit / 20))
    teacher = TeacherSettings("lama-first", time_limit, MEMORY_LIMIT, source.translate_options)
    yield from collect(
        source, request.data, teacher, count=DRAWN, val=val, test=test, seed=request.seed, workers=request.workers
    )


def split_sizes(name: str) -> tuple[int, int]:
    """Validation and test problems: a tenth of the folder each, or plenty where problems are drawn."""
    training = Path(name) / "training"
    if name in catalog.names() or not training.is_dir():
        return MOST_HELD_OUT, MOST_HELD_OUT
    known = len(list(training.glob("*.pddl")))
    if known < LEAST_PROBLEMS:
        raise InputError(f"{training}: {known} problems are too few to learn from; give at least {LEAST_PROBLEMS}")
    share = min(MOST_HELD_OUT, known // 10)
    return share, share


def make_vocabulary(request: LearnRequest, data: Dataset) -> Path:
    """From the folder's defaults, or with room for half as many objects again as the largest problem has."""
    path = request.work / "vocabulary.json"
    if not path.exists():
        defaults = problems(request.name, request.seed, ()).defaults
        info = read_domain(data.domain_text)
        if defaults is not None:
            encoding = defaults.encoding.as_table()
        else:
            objects = (read_problem(data.domain_text, row.problem).objects for row in data.rows())
            encoding = pools_from_problems(objects, info.constants)
        write_text(path, build_vocabulary(info, encoding).to_json())
    return path


def recipes(request: LearnRequest, data: Dataset, vocabulary: Path, seconds: float) -> Iterator[TrainingSettings]:
    """Settings of both models; those of a run that has begun stay as they are."""
    words = Vocabulary.from_json(vocabulary.read_text(encoding="utf-8"))
    stores = [open_store(data, split, words, request.workers) for split in ("train", "val")]
    asked = policy_settings(request.data, vocabulary, words, stores, POLICY_SHARE * seconds, request.seed)
    policy = begun(request, asked)
    yield policy
    trained = request.work / "policy" / "best"
    yield begun(request, heuristic_settings(policy, trained, stores, HEURISTIC_SHARE * seconds))


def begun(request: LearnRequest, settings: TrainingSettings) -> TrainingSettings:
    """The settings that a run began with, if it did."""
    folder = request.work / settings.kind
    return read_settings(folder / "settings.json") if (folder / "state.pt").exists() else settings


def report(request: LearnRequest) -> str:
    """Solve the problems held out and tell how it went; also kept in summary.json."""
    data = dataset.open_dataset(request.data)
    rows = [row for row in data.rows("test") if row.length >= 0]
    share = 1 - DATA_SHARE - POLICY_SHARE * (1 - DATA_SHARE) - HEURISTIC_SHARE * (1 - DATA_SHARE)
    budget = share * request.seconds * request.workers / (len(METHODS) * max(1, len(rows)))
    seconds = min(MOST_SECONDS, max(1.0, budget))
    results = list(evaluate(request.out, data.domain_text, rows, seconds, request.workers, request.seed))
    write_json(request.out / "summary.json", [asdict(result) for result in results], indent=1)
    return table(results, seconds)
