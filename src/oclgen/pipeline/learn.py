"""`oclgen learn`: from a folder with a domain and problems to a model, in the time the user has.

The teacher solves the problems and, where they are few, states beside its plans; one relational network learns from
these plans; search settings are chosen; loops of self-improvement follow while there is time and they bring something;
then problems that were held out are solved. Everything lies in OUT/work, each part whole or not there
at all, and the same command again goes on where the last one stopped, however it ended.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from oclgen.data.dataset import TEST, TRAIN, VAL
from oclgen.encoding.kinds import RELATIONAL
from oclgen.learn.settings import TrainingSettings, read_settings
from oclgen.learn.train import train
from oclgen.pipeline.clock import LEAST_TUNING, Clock, TimePlan
from oclgen.pipeline.diagnosis import Evidence, diagnose, validation_losses
from oclgen.pipeline.evaluation import METHODS, EvaluationJob, EvaluationResult, evaluate, table
from oclgen.pipeline.gathering import Plans, gather, store_examples
from oclgen.pipeline.installing import SearchChoice, install, make_model, set_choice
from oclgen.pipeline.loops import Improver
from oclgen.pipeline.more_time import extend, keep_better
from oclgen.pipeline.off_plan import OffPlanStage, states_each, with_several_goals
from oclgen.pipeline.sizes import training_settings
from oclgen.pipeline.source import Say, check_source, readable_problems
from oclgen.pipeline.tuning import Tuner
from oclgen.support.files import locked, read_json, write_json
from oclgen.support.parallel import Workers, worker_count
from oclgen.support.settings import format_duration

MOST_SECONDS, LEAST_SECONDS = 10.0, 1.0
"""For each problem of the evaluation."""
LEAST_TRAINING = 2.0
AHEAD = 3.0
"""Problems that workers may have before them when the time is up, in limits of one."""


@dataclass(frozen=True, slots=True)
class LearnRequest:
    """What the user asked for."""

    name: str
    out: Path
    seconds: float
    workers: Workers
    seed: int
    begun: float = 0.0
    """Seconds that the process had been running before: they count, too."""

    @property
    def work(self) -> Path:
        return self.out / "work"

    @property
    def training(self) -> Path:
        return self.work / "training"


Publish = Callable[[Path], None]
"""Told of each model that stands in OUT."""


def learn(request: LearnRequest, say: Say, publish: Publish = lambda _: None) -> bool:
    """Make or finish the model and say how good it is; false if it was interrupted on the way."""
    source = readable_problems(request.name, request.seed, say)
    check_source(source, request.work)
    request.work.mkdir(parents=True, exist_ok=True)
    with locked(request.work), Clock(request.work / "clock.json", request.seconds, request.begun).running() as clock:
        begun = extend(request.work, request.out, request.seconds, clock)
        left = f", {format_duration(clock.left)} left" if clock.spent > 1 else ""
        say(f"plan for {format_duration(request.seconds)}{left}: {TimePlan.of(clock.limit).line()}")
        seconds = max(LEAST_TRAINING, TimePlan.of(clock.limit - begun).teacher - (clock.spent - begun))
        plans = gather(source, request.work, clock, seconds, request.seed, request.workers, say)
        add_off_plan_states(request, clock, plans, say)
        trained = train_model(request, clock, plans, say)
        if not trained or not (request.out / RELATIONAL.name).exists():
            publish_model(request, publish)
        if trained:
            improve_model(request, clock, plans, say, publish)
            for line in report(request, clock, plans):
                say(line)
    return trained


def improve_model(request: LearnRequest, clock: Clock, plans: Plans, say: Say, publish: Publish) -> None:
    """Search settings and loops, while there is time; each better model is put in place."""
    improver = Improver(request.work, plans, clock, request.workers, request.seed, say)
    keep_better(improver)
    improver = replace(improver, choice=tune(request, clock, plans, say))
    put_in_place(request, improver.current(), publish)
    for model in improver.loops(clock.limit - TimePlan.of(clock.limit).evaluation):
        (request.work / "evaluation.jsonl").unlink(missing_ok=True)
        put_in_place(request, model, publish)


def put_in_place(request: LearnRequest, model: Path, publish: Publish) -> None:
    install(model, request.out)
    publish(request.out)


def publish_model(request: LearnRequest, publish: Publish) -> None:
    """The trained model, or the best of an unfinished training, so that something is there. Where the training began
    again something better may be there."""
    if (request.work / "before").exists():
        return
    model, best = request.work / "model", request.training / "best"
    if not model.exists() and best.is_dir():
        model = request.work / "unfinished"
        make_model(best, model)
    if model.exists():
        put_in_place(request, model, publish)


def add_off_plan_states(request: LearnRequest, clock: Clock, plans: Plans, say: Say) -> None:
    """Make the data set to train on, with states beside the plans where problems are few."""
    if plans.path.exists():
        return
    rows = plans.rows(TRAIN)
    left = TimePlan.of(clock.left, "teacher")
    if states_each(len(rows)) and left.off_plan:
        say(f"plan for the {format_duration(clock.left)} that are left: {left.line()}")
        hard = with_several_goals(plans.hard())
        stage = OffPlanStage(request.work, rows, hard, plans.data, request.seed)
        stage.run(clock, left.off_plan, request.workers, say)
    store_examples(plans)


def train_model(request: LearnRequest, clock: Clock, plans: Plans, say: Say) -> bool:
    """The network from scratch, or the rest of its training; false if that was interrupted, be it in its last
    moment."""
    model, run = request.work / "model", request.training
    if model.exists():
        return True
    left = TimePlan.of(clock.left, "teacher", "off_plan")
    if left.training:
        say(f"plan for the {format_duration(clock.left)} that are left: {left.line()}")
    settings = settings_for(request, plans, max(LEAST_TRAINING, left.training))
    try:
        outcome = train(settings, run, resume=(run / "state.pt").exists())
    except KeyboardInterrupt:
        return False
    if outcome.reason != "interrupted":
        make_model(run / "best", model)
    return not outcome.told_to_end


def tune(request: LearnRequest, clock: Clock, plans: Plans, say: Say) -> SearchChoice | None:
    """The search settings that suit the model, written into it; None where there is no time to try any, or was none
    before the loops."""
    tuner = Tuner(request.work, plans, request.workers, request.seed, say)
    left = TimePlan.of(clock.left, "teacher", "off_plan", "training").tuning
    seconds = min(left, TimePlan.of(clock.limit).tuning)
    if tuner.chosen is None and (seconds < LEAST_TUNING or (request.work / "loop-1").exists()):
        return None
    model = request.work / "model"
    choice = tuner.chosen or tuner.choose(model, clock, seconds)
    set_choice(model, choice)
    return choice


def settings_for(request: LearnRequest, plans: Plans, seconds: float) -> TrainingSettings:
    """New ones, or those of the run that is there, with more time if there is more."""
    run = request.training
    if not (run / "state.pt").exists():
        return training_settings(plans.path, plans.data.domain_text, seconds, request.seed)
    begun = read_settings(run / "settings.json")
    planned = TimePlan.of(request.seconds * 0.9).training
    if planned <= begun.schedule.seconds:
        return begun
    return replace(begun, schedule=replace(begun.schedule, time=f"{planned:.1f}s"))


def report(request: LearnRequest, clock: Clock, plans: Plans) -> Iterator[str]:
    """Solve the problems held out and tell how it went; also kept in summary.json."""
    rows = plans.held_out()
    seconds = seconds_each(request, clock, len(rows))
    jobs = [
        EvaluationJob(request.out, plans.data.domain_text, row, method, seconds, request.seed)
        for row in rows
        for method in METHODS
    ]
    path = request.work / "evaluation.jsonl"
    results = evaluate(path, jobs, request.workers, lambda: clock.left < AHEAD * seconds)
    write_json(request.out / "summary.json", [result.summary() for result in results], indent=1)
    yield table(results, seconds)
    yield from seen_before(plans)
    yield from diagnose(evidence(request, plans, results))
    yield f"next: oclgen solve --model {request.out} {next_problem(request)}"


def seconds_each(request: LearnRequest, clock: Clock, problems: int) -> float:
    """The same after an interruption."""
    path = request.work / "evaluation.json"
    if not path.exists() or not (request.work / "evaluation.jsonl").exists():
        workers = worker_count(request.workers)
        budget = clock.left * workers / (len(METHODS) * problems + AHEAD * workers)
        write_json(path, {"seconds": round(min(MOST_SECONDS, max(LEAST_SECONDS, budget)), 1)})
    return float(read_json(path)["seconds"])


def seen_before(plans: Plans) -> Iterator[str]:
    counts = plans.counts()
    if not counts[TEST]:
        seen = "chose among the models" if counts[VAL] else "was learned from"
        yield f"with so few problems none was held out: the one above {seen}"


def evidence(request: LearnRequest, plans: Plans, results: list[EvaluationResult]) -> Evidence:
    losses = validation_losses(request.training)
    return Evidence(plans.counts()[TRAIN], len(plans.failed()), losses, results, request.seconds)


def next_problem(request: LearnRequest) -> str:
    folder = Path(request.name)
    return f"{folder / 'domain.pddl'} PROBLEM" if folder.is_dir() else "DOMAIN PROBLEM"
