"""`oclgen detours`: states beside the plans of a data set, solved."""

import signal
import sys
from pathlib import Path

import click

from oclgen.cli import parameters
from oclgen.cli.parameters import DURATION, MEMORY, workers_options, working
from oclgen.support.parallel import progress_note
from oclgen.support.progress import Progress


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the new data set.")
@click.option("--states", default=6, show_default=True, type=click.IntRange(min=1), help="For each training problem.")
@click.option("--walk", default=8, show_default=True, type=click.IntRange(min=1), help="Random actions, at most.")
@click.option("--time-limit", type=DURATION, default="3s", show_default=True, help="Of the search from one state.")
@click.option("--memory-limit", type=MEMORY, default="4G", show_default=True, help="For each problem.")
@workers_options
@parameters.random_seed
def command(
    folder: Path,
    out: Path,
    states: int,
    walk: int,
    time_limit: float,
    memory_limit: int,
    workers: int | None,
    cluster: str | None,
    random_seed: int,
) -> None:
    """Copy the data set FOLDER and add states beside its training plans, each with a shortest plan from there.

    A model that has seen only good plans does not know what lies beside them, and searches go there. For each
    training problem some states are drawn, a few random actions away from its plan, and solved by breadth-first
    search, so this is for domains whose state spaces it can walk. The same command again resumes.
    """
    from oclgen.data import dataset
    from oclgen.data.off_plan import OffPlanSettings, add_off_plan_states

    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that what is done is put in order
    detours = OffPlanSettings(states, walk, time_limit, memory_limit, random_seed)
    with working(workers, cluster) as hands:
        steps = add_off_plan_states(dataset.open_dataset(folder), out, detours, hands)
        done, total = next(steps)
        progress = Progress(total, done, "problem")
        for done, _ in steps:
            progress.show(done, progress_note(hands))
    progress.close()
    made = dataset.open_dataset(out)
    without = made.count("failed") - dataset.open_dataset(folder).count("failed")
    click.echo(f"{made.count('train')} training rows in {out} ({without} states without a known plan)")
