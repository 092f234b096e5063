"""`oclgen data`: make a data set of solved problems."""

import signal
import sys
from pathlib import Path

import click

from oclgen.classical.planners import TEACHERS
from oclgen.cli import parameters
from oclgen.cli.parameters import DURATION, MEMORY, workers_options, working
from oclgen.errors import InputError
from oclgen.support.parallel import progress_note
from oclgen.support.progress import Progress
from oclgen.support.shards import Shard


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the data set.")
@click.option("--count", default=1000, show_default=True, type=click.IntRange(min=1), help="Solved problems in all.")
@click.option("--val", type=click.IntRange(min=0), help="Of these for validation (default: 5 %, at most 1000).")
@click.option("--test", type=click.IntRange(min=0), help="Of these for testing (default: 5 %, at most 1000).")
@click.option("--teacher", type=click.Choice([*TEACHERS, "oclgen"]), default="lama-first", show_default=True)
@click.option("--model", type=click.Path(path_type=Path), help="Of the teacher oclgen (default: the shipped one).")
@click.option("--time-limit", type=DURATION, default="20m", show_default=True, help="Wall-clock for each problem.")
@click.option("--memory-limit", type=MEMORY, default="8G", show_default=True, help="For each problem.")
@workers_options
@click.option("--shard", default="1/1", metavar="I/N", help="Only part I of N of it all; join by `oclgen merge`.")
@parameters.random_seed
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A range to draw from: blocks=3..12.")
def command(
    name: str,
    out: Path,
    count: int,
    val: int | None,
    test: int | None,
    teacher: str,
    model: Path | None,
    time_limit: float,
    memory_limit: int,
    workers: int | None,
    cluster: str | None,
    shard: str,
    random_seed: int,
    settings: tuple[str, ...],
) -> None:
    """Draw problems of the domain NAME, solve them with the teacher and store them in OUT.

    NAME is a domain that comes with oclgen, or a folder with domain.pddl and training/*.pddl (and
    training_plans/*.plan, where plans are known). The teacher is one of Fast Downward's searches or, once there is
    a model, our own. Problems that it does not solve are kept apart, and others are drawn in their place. The same
    command again resumes a run that was stopped or killed; a larger --count extends a data set. With --shard I/N
    the numbers are still those of the whole, of which this part takes its share.
    """
    from oclgen.data import collect, dataset, problems
    from oclgen.data.teacher import TeacherSettings

    if model is not None and teacher != "oclgen":
        raise click.UsageError("--model is for --teacher oclgen")
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that what is done is put in order
    source = problems.problems(name, random_seed, settings)
    settings_of_teacher = TeacherSettings(
        teacher, time_limit, memory_limit, source.translate_options, "" if model is None else str(model)
    )
    part = Shard.parse(shard)
    count = count if source.size is None else min(count, source.size)
    val, test = collect.split_sizes(out, count, val, test, part)
    sizes = {"count": part.share(count), "val": val, "test": test, "seed": random_seed}
    try:
        with working(workers, cluster) as hands:
            tallies = collect.collect(source, out, settings_of_teacher, **sizes, workers=hands, shard=part)
            tally = next(tallies)
            progress = Progress(tally.total, tally.done, "problem")
            for tally in tallies:
                failed, own = f"{tally.rows['failed']} failed", f"own work {tally.own_share:.1%}"
                progress.show(tally.done, progress_note(hands, failed, own))
    except OSError as error:
        raise InputError(f"{error.filename or out}: {error.strerror or error}") from None
    progress.close()
    made = ", ".join(f"{tally.rows[split]} {split}" for split in sorted(tally.rows)) or "nothing to do"
    if tally.repeated:
        click.echo(f"{tally.repeated} problems repeat others and were left out")
    click.echo(f"{tally.solved} problems in {out} (this run: {made}; own work {tally.own_share:.1%} of CPU time)")
    click.echo(f"fingerprint {dataset.open_dataset(out).provenance()['fingerprint']}")
