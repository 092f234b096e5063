"""`oclgen shorten`: make a plan shorter that somebody has, whatever planner it comes from."""

from pathlib import Path

import click

from oclgen.cli import parameters


@click.command()
@click.argument("domain", type=click.Path(path_type=Path))
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--method",
    help="oclgen searches on from the plan with a model; lama and bfs re-plan parts of it and need none. "
    "Default: oclgen if there is a model for the domain, else lama, or bfs without Fast Downward.",
)
@parameters.time_limit
@parameters.memory_limit
@parameters.threads
@parameters.random_seed
@parameters.model
@parameters.plan_file("; it may be PLAN itself.")
@parameters.json_file
def command(**options: object) -> int:
    """Make PLAN shorter until the time is up; never return a longer one.

    PLAN is validated first and may come from any planner. Works in every domain that oclgen reads. Output, plan files
    and exit codes are those of `oclgen solve`.
    """
    from oclgen.solve_process import SolveRequest, run_request

    return run_request(SolveRequest(iterations=None, profile="extended", settings={}, **options))  # type: ignore[arg-type]
