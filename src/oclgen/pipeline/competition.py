"""The learner of the IPC's learning track: tasks as files, knowledge as a file."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from oclgen.errors import InputError
from oclgen.pipeline.knowledge import publish
from oclgen.pipeline.learn import LearnRequest, learn
from oclgen.pipeline.source import Say
from oclgen.support.files import replacing_folder


def learn_knowledge(
    knowledge: Path, domain: Path, tasks: Sequence[Path], seconds: float, workers: int, seed: int, say: Say
) -> bool:
    """Learn from tasks; false if it was interrupted. What it is made from lies in `DK.work` and lets it go on."""
    work = knowledge.with_name(f"{knowledge.name}.work")
    folder = work / "tasks"
    if not folder.exists():
        copy_tasks(domain, tasks, folder)
    request = LearnRequest(str(folder), work / "model", seconds, workers, seed)
    return learn(request, say, lambda model: publish(model, knowledge))


def copy_tasks(domain: Path, tasks: Sequence[Path], folder: Path) -> None:
    """As a folder that `oclgen learn` takes; tasks of the same name in different folders are different tasks."""
    with replacing_folder(folder) as made:
        (made / "training").mkdir()
        try:
            shutil.copyfile(domain, made / "domain.pddl")
            for number, task in enumerate(tasks, 1):
                shutil.copyfile(task, made / "training" / f"{number:05}-{task.stem}.pddl")
        except FileNotFoundError as error:
            raise InputError(f"{error.filename}: {error.strerror}") from None
