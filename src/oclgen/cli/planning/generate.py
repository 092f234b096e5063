"""`oclgen generate`: write problems of a domain, drawn from its distribution, into a folder."""

from pathlib import Path

import click


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--count", type=click.IntRange(min=1), default=10, show_default=True, help="How many problems.")
@click.option("--random-seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same files.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="A new or empty folder.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a parameter's range: blocks=7, blocks=3..12, blocks=3..10,13..17. Repeatable.",
)
def command(name: str, count: int, random_seed: int, out: Path, settings: tuple[str, ...]) -> None:
    """Draw COUNT different problems of the domain NAME and write them to DIR beside the domain file.

    NAME is blocksworld, labyrinth, logistics, sokoban or a folder with domain.pddl, generator.py and defaults.toml.
    Without --set the parameters come from the paper's ranges.
    """
    from oclgen.domains import catalog
    from oclgen.domains.folder import write_problems
    from oclgen.support.progress import Progress

    spec = catalog.load(name)
    changes = catalog.overrides(spec, settings)
    progress = Progress(count, 0, "problem")
    try:
        write_problems(spec, out, count, random_seed, changes, on_written=progress.show)
    finally:
        progress.close()
    click.echo(f"{count} problems of {spec.name} in {out}")
