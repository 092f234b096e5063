"""A folder in which was learned before gets more time: what goes on, what begins again, and that OUT never gets worse.

WORK/time.json            the most time that was asked for, and when on the clock the work began (again)
WORK/before/              the model in OUT when the training began again; it stays there until the new one is better
WORK/choice-before.jsonl  this model on the problems that choose among models
WORK/choice-after.jsonl   the new model on them
WORK/earlier.json         the splits of the problems that the teacher had solved before it went on
"""

import shutil
from pathlib import Path

from oclgen.encoding.kinds import RELATIONAL
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.installing import set_choice
from oclgen.pipeline.loops import Improver
from oclgen.support.files import copy_folder, read_json, replacing_folder, write_json

MUCH_MORE = 2.0
"""So many times the time before. With less, what begins again would not come further than it was."""
COMPARING = 0.02
"""Of the time that is left, for the model before and the new one each."""


def extend(work: Path, out: Path, seconds: float, clock: Clock) -> float:
    """More time is for the loops, much more for everything. Returns when, on the clock, the work began (again)."""
    path = work / "time.json"
    known = {"seconds": seconds, "begun": 0.0} | (read_json(path) if path.exists() else {})
    if seconds > known["seconds"]:
        (work / "evaluation.jsonl").unlink(missing_ok=True)
    if seconds >= MUCH_MORE * known["seconds"]:
        begin_again(work, out)
        known["begun"] = round(clock.spent, 1)
    write_json(path, known | {"seconds": max(seconds, known["seconds"])})
    return float(known["begun"])


def begin_again(work: Path, out: Path) -> None:
    """The training goes on and the loops begin again. If the teacher had not seen all problems, it goes on, too, and
    the training begins anew."""
    if (work / "model").exists() and (out / RELATIONAL.name).exists() and not (work / "before").exists():
        keep(work, out)
    folders = [work / "model", *work.glob("loop-*")]
    files = [*work.glob("choice*"), *work.glob("tuning*"), work / "settings.json"]
    if not (work / "teacher.json").exists():
        if (work / "splits.json").exists():
            (work / "splits.json").replace(work / "earlier.json")
        files.append(work / "off_plan.json")
        folders += [work / "off_plan", work / "plans", work / "training"]
    for file in files:
        file.unlink(missing_ok=True)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def keep(work: Path, out: Path) -> None:
    """The model in OUT, with search settings that no other model has either, and beside it those that were found."""
    with replacing_folder(work / "before") as made:
        shutil.copytree(out / RELATIONAL.name, made / RELATIONAL.name)
        set_choice(made, None)
        if (work / "settings.json").exists():
            shutil.copy(work / "settings.json", made)


def keep_better(improver: Improver) -> None:
    """Where the training began again the model before takes the new one's place, unless that is better."""
    work, before = improver.work, improver.work / "before"
    if not before.exists():
        return
    seconds, problems = COMPARING * improver.clock.left, len(improver.plans.choosing())
    old = improver.score(before, work / "choice-before.jsonl", seconds)
    new = improver.score(work / "model", work / "choice-after.jsonl", seconds)
    better = new.better_than(old)
    improver.say(
        f"trained again: {new.text(problems)} (before: {old.text(problems)}): {'kept' if better else 'not kept'}"
    )
    if not better:
        copy_folder(before, work / "model")
        if (before / "settings.json").exists():
            (before / "settings.json").replace(work / "settings.json")
    shutil.rmtree(before)
