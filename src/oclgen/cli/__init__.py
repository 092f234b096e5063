"""The command line: one verb per capability, each in a file of its own, loaded only when it is used."""

import errno
import importlib
import os
import sys
from collections.abc import Sequence

import click

from oclgen import __version__
from oclgen.errors import ExitCode, OclgenError

VERBS = {
    "demo": ("planning", "See it work on one problem of each domain."),
    "solve": ("planning", "Find a plan and keep shortening it until the time is up."),
    "shorten": ("planning", "Make a plan shorter that you already have."),
    "validate": ("planning", "Check a plan step by step with an independent validator."),
    "mcp": ("planning", "Serve an agent by the Model Context Protocol."),
    "generate": ("planning", "Draw problems of a domain from its distribution."),
    "data": ("learning", "Make a data set of solved problems for training."),
    "detours": ("learning", "Add states beside its plans to a data set."),
    "optima": ("learning", "Prove optimal plan lengths for a folder or a data set."),
    "train": ("learning", "Train a policy, a heuristic, or both in one relational network, on a data set."),
    "improve": ("learning", "Make a model better: search, learn from the plans found, repeat."),
    "learn": ("learning", "From a folder with a domain and problems to a ready model."),
    "ipc": ("learning", "The two programs of the IPC's learning track."),
    "bench": ("evaluation", "Run methods on problems as a config declares; one record per run."),
    "merge": ("evaluation", "Join the parts of a benchmark or a data set that was made in parts."),
    "serve": ("planning", "A page and web services for editors: watch plans get shorter."),
    "report": ("evaluation", "Tables and figures from a benchmark's records."),
}
"""Each verb with the room of its file and what it does."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""A full disk can stop any verb."""


class LazyGroup(click.Group):
    """Verbs live in `oclgen.cli.<room>.<verb>:command`; listing them imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"oclgen.cli.{VERBS[cmd_name][0]}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, text) for verb, (_, text) in VERBS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="oclgen")
def cli() -> None:
    """A learned anytime planner: learns a PDDL domain from a classical planner's plans, then finds shorter
    plans, sooner. `oclgen VERB --help` explains each verb."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: every failure a user can cause ends in one line and the right exit code.

    The process leaves without tidying up memory: taking a graph of millions of states apart would take longer than
    a time limit allows.
    """
    code = run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    try:
        code = cli.main(args=arguments, prog_name="oclgen", standalone_mode=False)
        return int(code) if isinstance(code, int) else int(ExitCode.SUCCESS)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return 130
    except click.ClickException as error:
        click.echo(f"oclgen: {' '.join(error.format_message().split())}", err=True)
        return int(ExitCode.BAD_INPUT)
    except OclgenError as error:
        click.echo(f"oclgen: {error}", err=True)
        return int(error.exit_code)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        click.echo(f"oclgen: {error.filename or 'the disk'}: {error.strerror}", err=True)
        return int(ExitCode.INTERNAL_ERROR)
    except ModuleNotFoundError as error:
        extra = missing_extra(error.name or "")
        if extra is None:
            raise
        click.echo(f"oclgen: this needs {error.name}; install it with: pip install 'oclgen[{extra}]'", err=True)
        return int(ExitCode.BAD_INPUT)


def missing_extra(module: str) -> str | None:
    """The extra that brings a module which the base install leaves out."""
    extras = {
        "teach": ("up_fast_downward", "fast_downward", "pyarrow"),
        "learn": ("torch", "transformers", "tensorboard"),
        "serve": ("fastapi", "uvicorn", "pydantic", "starlette"),
        "bench": ("scipy", "pandas", "matplotlib", "jinja2"),
        "up": ("unified_planning",),
        "mcp": ("mcp",),
        "cluster": ("ray",),
    }
    top = module.split(".")[0]
    return next((extra for extra, modules in extras.items() if top in modules), None)
