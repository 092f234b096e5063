"""`oclgen merge`: join the records of several benchmark folders."""

from pathlib import Path

import click


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="A new folder.")
def command(folders: tuple[Path, ...], out: Path) -> None:
    """Join the records that `oclgen bench --shard I/N` left in each DIR.

    Runs that were made twice are kept once. Folders with different configs, and folders that ran one label with
    different settings or models, are refused. `oclgen bench` with the same config and the new folder runs what is
    still missing.
    """
    from oclgen.bench.shards import merge

    merged = merge(folders, out)
    found = f", {merged.duplicates} duplicates left out" if merged.duplicates else ""
    click.echo(f"{merged.records} records from {len(folders)} folders in {out}{found}")
