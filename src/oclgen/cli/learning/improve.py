"""`oclgen improve`: models that get better by learning from their own searches."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oclgen.cli.learning.learn import storage_error
from oclgen.cli.parameters import workers_options, working
from oclgen.support.progress import Progress

if TYPE_CHECKING:
    from oclgen.improve.loop import Report


@click.command()
@click.argument("overrides", nargs=-1, metavar="[TABLE.KEY=VALUE]...")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Recipe, such as those in configs/.")
@click.option("--model", type=click.Path(path_type=Path), help="Model to start from, as oclgen learn makes it.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the loop.")
@click.option("--data", type=click.Path(path_type=Path), help="Data set with the problems; overrides problems.path.")
@click.option("--resume", is_flag=True, help="Go on with the loop in --out; finished searches are not repeated.")
@workers_options
def command(
    overrides: tuple[str, ...],
    config: Path | None,
    model: Path | None,
    out: Path,
    data: Path | None,
    resume: bool,
    workers: int | None,
    cluster: str | None,
) -> None:
    """Search for better plans, finetune on them, repeat.

    Settings come from --config, changed by TABLE.KEY=VALUE arguments such as search.method=mcts. Each iteration leaves
    a model in OUT/iteration-K and its figures in OUT/loop.json. A loop that was stopped or killed goes on with
    --resume.
    """
    if config is None and not resume:
        raise click.UsageError("give --config FILE (or --resume with the --out DIR of a loop)")
    from oclgen.improve.loop import improve
    from oclgen.improve.settings import read_settings

    changes = list(overrides)
    if data is not None:
        changes.append(f"problems.path={json.dumps(str(data))}")
    settings = read_settings(config or out / "settings.json", changes)
    try:
        with working(workers, cluster) as hands:
            show(improve(settings, out, model, hands, resume))
    except OSError as error:
        raise storage_error(error, out) from None


def show(reports: "Iterator[Report]") -> None:
    """Findings as lines, stages as progress."""
    from oclgen.improve.loop import Finding

    stage, progress = "", None
    for report in reports:
        if progress is not None and (isinstance(report, Finding) or report.stage != stage):
            progress.close()
            stage, progress = "", None
        if isinstance(report, Finding):
            click.echo(report.text)
        elif progress is None:
            stage, progress = report.stage, Progress(report.total, report.done, "problem")
            click.echo(stage)
        else:
            progress.show(report.done, ", ".join(filter(None, [stage, report.note])))
