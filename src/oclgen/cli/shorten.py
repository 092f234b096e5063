"""`oclgen shorten`: make a plan shorter that somebody has, whatever planner it comes from."""

from pathlib import Path

import click

from oclgen.cli.parameters import DURATION, MEMORY


@click.command()
@click.argument("domain", type=click.Path(path_type=Path))
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("plan", type=click.Path(path_type=Path))
@click.option(
    "--method",
    help="oclgen searches on from the plan with a model; lama and bfs re-plan parts of it and need none. "
    "Default: oclgen if there is a model for the domain, else lama, or bfs without Fast Downward.",
)
@click.option(
    "--overall-time-limit",
    type=DURATION,
    default="10s",
    show_default=True,
    help="Wall-clock from process start, everything included.",
)
@click.option("--overall-memory-limit", type=MEMORY, default="4G", show_default=True)
@click.option("--random-seed", default=0, show_default=True)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="Model folder, as oclgen learn makes it (default: the shipped model for this domain).",
)
@click.option(
    "--plan-file",
    type=click.Path(path_type=Path),
    default="sas_plan",
    show_default=True,
    help="Best plan; improving plans go to PLAN_FILE.1, .2, ...; it may be PLAN itself.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the whole record of the run here.")
def command(**options: object) -> int:
    """Make PLAN shorter until the time is up; never return a longer one.

    PLAN is validated first and may come from any planner. Works in every domain that oclgen reads. Output, plan files
    and exit codes are those of `oclgen solve`.
    """
    from oclgen.solve_process import SolveRequest, run_request

    return run_request(SolveRequest(iterations=None, profile="extended", settings={}, **options))  # type: ignore[arg-type]
