"""`oclgen learn`: from a folder with a domain and problems to a ready model."""

import os
from pathlib import Path

import click

from oclgen.cli.parameters import DURATION


@click.command("learn")
@click.argument("domain")
@click.option("--time", "seconds", type=DURATION, required=True, help="For everything, such as 2h.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the model.")
@click.option("--workers", default=os.cpu_count() or 1, type=click.IntRange(min=1), help="Default: one per core.")
@click.option("--random-seed", "seed", default=0, show_default=True)
def command(domain: str, seconds: float, out: Path, workers: int, seed: int) -> int:
    """Learn to plan in DOMAIN: a folder with domain.pddl and training/*.pddl.

    Plans in training_plans/*.plan spare the teacher's time. DOMAIN may also be a domain that comes with oclgen, or a
    folder with a generator; then problems are drawn. The model in OUT is ready for: oclgen solve --model OUT. The same
    command again goes on where the last one stopped.
    """
    from oclgen.pipeline.learn import LearnRequest, learn, report

    request = LearnRequest(domain, out, seconds, workers, seed)
    if not learn(request, click.echo):
        click.echo("interrupted; the same command goes on from here")
        return 130
    click.echo(report(request))
    click.echo(f"ready: oclgen solve --model {out} DOMAIN PROBLEM")
    return 0
