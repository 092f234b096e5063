"""`oclgen report`: tables and figures from the records of one or several benchmarks."""

from pathlib import Path

import click


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Where to write (default: DIR/report).")
def command(folders: tuple[Path, ...], out: Path | None) -> None:
    """Read the records that `oclgen bench` left in each DIR and write a report.

    Markdown, LaTeX, CSV, PNG, SVG, one self-contained HTML page, and lab's properties file. Runs nothing; tables that
    the records do not allow are listed with what they lack.
    """
    from oclgen.report import build as report
    from oclgen.report import documents

    evaluation = report.read(folders)
    made = report.make(evaluation)
    target = out or folders[0] / "report"
    documents.write(made, evaluation, target)
    for line in made.warnings:
        click.echo(f"ATTENTION: {line}")
    shown = f"{len(made.tables())} tables and {len(made.pictures())} figures"
    click.echo(f"{target / 'index.html'}: {shown} from {len(evaluation.runs)} runs; {len(made.absent)} not shown")
