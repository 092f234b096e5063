"""`oclgen ipc`: the two programs of the IPC's learning track."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from oclgen.cli.learning.learn import ending_at_sigterm, storage_error
from oclgen.cli.parameters import DURATION, MEMORY
from oclgen.errors import InputError

FILE = click.Path(path_type=Path)


@click.group("ipc")
def command() -> None:
    """The two programs of the IPC's learning track: learn knowledge of a domain, and plan with it."""


@command.command("learn")
@click.argument("knowledge", metavar="DK", type=FILE)
@click.argument("domain", type=FILE)
@click.argument("tasks", metavar="TASK...", nargs=-1, required=True, type=FILE)
@click.option("--time", "seconds", type=DURATION, default="1h", show_default=True, help="For everything.")
@click.option("--workers", default=os.cpu_count() or 1, type=click.IntRange(min=1), help="Default: one per core.")
@click.option("--random-seed", "seed", default=0, show_default=True)
def learn_command(
    knowledge: Path, domain: Path, tasks: tuple[Path, ...], seconds: float, workers: int, seed: int
) -> int:
    """Learn from TASKs; each better model appears as DK.1, DK.2, ..., and the newest as DK.

    SIGTERM ends it within seconds, and the best model so far is in DK. The same command again goes on.
    """
    from oclgen.pipeline.competition import learn_knowledge

    finished = False
    try:
        with ending_at_sigterm():
            finished = learn_knowledge(knowledge, domain, tasks, seconds, workers, seed, click.echo)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        raise storage_error(error, knowledge) from None
    if not finished:
        click.echo("interrupted; the same command goes on from here")
    if not knowledge.exists():
        raise InputError(f"{knowledge}: there was no time to learn anything; the same command goes on")
    return 0


@command.command("plan")
@click.argument("knowledge", metavar="DK", type=FILE)
@click.argument("domain", type=FILE)
@click.argument("task", type=FILE)
@click.argument("plan", type=FILE)
@click.option("--overall-time-limit", type=DURATION, help="Default: until SIGTERM.")
@click.option("--overall-memory-limit", type=MEMORY, help="Default: none.")
def plan_command(
    knowledge: Path,
    domain: Path,
    task: Path,
    plan: Path,
    overall_time_limit: float | None,
    overall_memory_limit: int | None,
) -> int:
    """Solve TASK with the knowledge DK; plans go to PLAN.1, PLAN.2, ..., each shorter, and the best to PLAN.

    Without usable knowledge a classical planner serves. Every plan is validated before it is written.
    """
    from oclgen.solve_process import SolveRequest, run_request

    with TemporaryDirectory(prefix="oclgen-") as folder:
        request = SolveRequest(
            domain=domain,
            problem=task,
            method=None,
            overall_time_limit=overall_time_limit,
            overall_memory_limit=overall_memory_limit,
            iterations=None,
            random_seed=0,
            model=usable_model(knowledge, domain, Path(folder)),
            profile="extended",
            settings={},
            plan_file=plan,
            json_file=None,
            threads=1,
        )
        return run_request(request)


def usable_model(knowledge: Path, domain: Path, folder: Path) -> Path | None:
    """The model in a knowledge file; None, and a line that says why, where it cannot serve."""
    from oclgen.model_folders import check_model
    from oclgen.pddl.reading.domain import read_domain
    from oclgen.pipeline.knowledge import unpack

    try:
        model = unpack(knowledge, folder)
        check_model(model, read_domain(domain))
    except InputError as error:
        click.echo(f"without knowledge: {error}")
        return None
    return model
