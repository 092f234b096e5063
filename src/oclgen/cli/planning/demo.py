"""`oclgen demo`: see it work on one problem of each domain."""

import click

from oclgen.cli.parameters import DURATION


@click.command()
@click.option("--time-limit", type=DURATION, default="5s", show_default=True, help="Seconds per domain.")
def command(time_limit: float) -> int:
    """Draw one problem of each domain, solve it, validate the plan, and show the plan getting shorter."""
    from oclgen.demo import described, show
    from oclgen.domains import catalog

    failed = False
    for name in catalog.names():
        click.secho(f"── {name} " + "─" * (70 - len(name)), bold=True)
        result = show(name, time_limit)
        failed |= result.failed
        click.echo("\n".join(described(result)))
    return int(failed)
