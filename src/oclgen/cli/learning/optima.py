"""`oclgen optima`: prove optimal plan lengths."""

from pathlib import Path

import click

from oclgen.cli.parameters import DURATION, MEMORY, workers_options, working
from oclgen.support.parallel import progress_note
from oclgen.support.progress import Progress


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--split", type=click.Choice(["train", "val", "test", "failed"]), default="test", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many problems.")
@click.option("--time-limit", type=DURATION, default="5m", show_default=True, help="Wall-clock for each problem.")
@click.option("--memory-limit", type=MEMORY, default="8G", show_default=True, help="For each problem.")
@workers_options
def command(
    folder: Path,
    split: str,
    limit: int | None,
    time_limit: float,
    memory_limit: int,
    workers: int | None,
    cluster: str | None,
) -> None:
    """Prove optimal plan lengths with A* and LM-cut and keep them in FOLDER/optima.json.

    FOLDER is a data set, or a folder with domain.pddl and problems. The same command again goes on where it
    stopped; problems that were not proved are tried again only with a longer time limit.
    """
    from oclgen.data import optima

    with working(workers, cluster) as hands:
        results = optima.prove_all(
            folder, split=split, limit=limit, time_limit=time_limit, memory_limit=memory_limit, workers=hands
        )
        total, _ = next(results)
        progress = Progress(total, 0, "problem")
        proofs = 0
        for left, proved in results:
            proofs += proved is not None and proved.length is not None
            progress.show(total - left, progress_note(hands, f"{proofs} proved"))
    progress.close()
    click.echo(f"{proofs} of {total} open problems proved; all proofs are in {folder / 'optima.json'}")
