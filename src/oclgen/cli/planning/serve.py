"""`oclgen serve`: the planner as a web page and as a service for editors."""

import os
from pathlib import Path

import click

from oclgen.cli.parameters import DURATION, MEMORY, own_models


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; beyond loopback: --token.")
@click.option("--port", default=5001, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--token", envvar="OCLGEN_TOKEN", help="Secret that clients must send (better: OCLGEN_TOKEN).")
@click.option("--allow-origin", "origins", multiple=True, help="Web page that may call this server; repeatable.")
@click.option("--workers", type=click.IntRange(min=1), help="Jobs at once (default: one per core).")
@click.option("--queue", default=32, show_default=True, type=click.IntRange(min=0), help="Jobs that may wait.")
@click.option("--time-limit", type=DURATION, default="10s", show_default=True, help="Of a job that asks for none.")
@click.option("--longest-time-limit", type=DURATION, default="5m", show_default=True, help="That a job may ask for.")
@click.option("--memory-limit", type=MEMORY, default="2G", show_default=True, help="Of each job.")
@click.option("--keep", "keep_seconds", type=DURATION, default="7d", show_default=True, help="How long jobs are kept.")
@own_models
@click.option("--data", type=click.Path(path_type=Path), help="Folder for jobs (default: ~/.local/state/oclgen/serve).")
def command(
    port: int,
    workers: int | None,
    data: Path | None,
    origins: tuple[str, ...],
    models: tuple[Path, ...],
    **options: object,
) -> int:
    """Serve a page and web interfaces: planning-as-a-service for editors, and one that streams improving plans.

    Open http://127.0.0.1:5001/ in a browser. Each job runs in a process of its own with limits of its own. A request
    that names no method is served by the model for its domain if there is one, else by LAMA or breadth-first search.
    """
    from oclgen import model_folders
    from oclgen.serve.run import serve
    from oclgen.serve.settings import ServeSettings, default_data_folder

    settings = ServeSettings(
        data=data or default_data_folder(),
        workers=workers or os.cpu_count() or 1,
        origins=origins,
        models=model_folders.own_models(models),
        **options,  # type: ignore[arg-type]
    )
    serve(settings, port)
    return 0
