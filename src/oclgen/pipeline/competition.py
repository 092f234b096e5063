"""The learner of the IPC's learning track: tasks as files, knowledge as a file."""

import filecmp
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
    request = LearnRequest(str(folder), work / "model", seconds, workers, seed)
    if not (request.work / "data").exists():
        copy_tasks(domain, tasks, folder)
    elif not same_tasks(domain, tasks, folder):
        raise InputError(f"{work}: was begun with other tasks; give these, or remove it, or give another DK")
    return learn(request, say, lambda model: publish(model, knowledge))


def copy_tasks(domain: Path, tasks: Sequence[Path], folder: Path) -> None:
    """As a folder that `oclgen learn` takes; tasks of the same name in different folders are different tasks."""
    with replacing_folder(folder) as made:
        (made / "training").mkdir()
        try:
            for name, file in places(domain, tasks).items():
                shutil.copyfile(file, made / name)
        except (FileNotFoundError, IsADirectoryError) as error:
            raise InputError(f"{error.filename}: {error.strerror}") from None


def same_tasks(domain: Path, tasks: Sequence[Path], folder: Path) -> bool:
    """Whether these are the files that were copied there."""
    wanted = places(domain, tasks)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.pddl")}
    return there == wanted.keys() and all(same_file(file, folder / name) for name, file in wanted.items())


def same_file(one: Path, other: Path) -> bool:
    return one.is_file() and filecmp.cmp(one, other, shallow=False)


def places(domain: Path, tasks: Sequence[Path]) -> dict[str, Path]:
    """Names within the folder."""
    copies = {f"training/{number:05}-{task.stem}.pddl": task for number, task in enumerate(tasks, 1)}
    return {"domain.pddl": domain, **copies}
