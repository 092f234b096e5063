"""`oclgen merge`: join the parts of a benchmark or of a data set."""

from pathlib import Path

import click


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="A new folder.")
def command(folders: tuple[Path, ...], out: Path) -> None:
    """Join what `oclgen bench --shard I/N` or `oclgen data --shard I/N` left in each DIR.

    Of a benchmark, runs that were made twice are kept once; folders with different configs, and folders that ran one
    label with different settings or models, are refused. Of a data set, problems that are in several parts are kept
    once; parts with different recipes are refused. The same command with the new folder and without --shard does what
    is still missing.
    """
    if (folders[0] / "recipe.json").exists():
        merge_rows(folders, out)
    else:
        merge_records(folders, out)


def merge_rows(folders: tuple[Path, ...], out: Path) -> None:
    from oclgen.data.dataset import open_dataset
    from oclgen.data.merging import merge_datasets

    merged = merge_datasets(folders, out)
    found = f", {merged.duplicates} duplicates left out" if merged.duplicates else ""
    click.echo(f"{merged.rows} rows from {len(folders)} folders in {out}{found}")
    click.echo(f"fingerprint {open_dataset(out).provenance()['fingerprint']}")


def merge_records(folders: tuple[Path, ...], out: Path) -> None:
    from oclgen.bench.shards import merge

    merged = merge(folders, out)
    found = f", {merged.duplicates} duplicates left out" if merged.duplicates else ""
    click.echo(f"{merged.records} records from {len(folders)} folders in {out}{found}")
