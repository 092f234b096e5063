"""`oclgen mcp`: a Model Context Protocol server on standard input and output."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--model",
    "models",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A model folder of your own, used for its domain; repeatable. The shipped models are always known.",
)
def command(models: tuple[Path, ...]) -> int:
    """Serve the tools solve, validate, shorten and domains to an agent, on standard input and output.

    Needs the extra mcp: pip install 'oclgen[mcp]'.
    """
    from oclgen.mcp_server import make_server
    from oclgen.model_folders import model_domain

    for folder in models:
        model_domain(folder)  # a wrong folder is refused now, not at the first request
    make_server([folder.resolve() for folder in models]).run("stdio")
    return 0
