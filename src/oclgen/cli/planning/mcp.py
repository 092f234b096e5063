"""`oclgen mcp`: a Model Context Protocol server on standard input and output."""

from pathlib import Path

import click

from oclgen.cli import parameters


@click.command()
@parameters.own_models
def command(models: tuple[Path, ...]) -> int:
    """Serve the tools solve, validate, shorten and domains to an agent, on standard input and output.

    Needs the extra mcp: pip install 'oclgen[mcp]'.
    """
    from oclgen.mcp_server import make_server
    from oclgen.model_folders import own_models

    make_server(own_models(models)).run("stdio")
    return 0
