"""`oclgen solve`: find a plan and keep shortening it until the time is up."""

from pathlib import Path

import click

from oclgen.cli import parameters
from oclgen.errors import InputError


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="[DOMAIN] PROBLEM", type=click.Path(path_type=Path))
@click.option(
    "--method",
    help="oclgen, mcts, mcts-partial, astar, gbfs, best-of-n, lama-first, lama, lmcut or bfs. "
    "Default: oclgen if there is a model for the domain, else lama, or bfs without Fast Downward.",
)
@parameters.time_limit
@parameters.memory_limit
@click.option("--iterations", type=click.IntRange(min=1), help="Stop after this many search iterations.")
@click.option("--stop-at-length", type=click.IntRange(min=0), help="Stop at a plan of at most this length.")
@parameters.random_seed
@parameters.model
@click.option(
    "--profile",
    type=click.Choice(["extended", "paper"]),
    default="extended",
    show_default=True,
    help="Search settings: the paper's with our extensions, or the paper's exactly.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cpu-torch", "cuda"]),
    default="cpu",
    show_default=True,
    help="Where the models run; cuda and cpu-torch need the learn extra.",
)
@parameters.threads
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override one search setting; repeatable.")
@parameters.plan_file()
@click.option("--plan", type=click.Path(path_type=Path), help="Start from this plan; only shorter ones are looked for.")
@click.option(
    "--search-tree-dump",
    metavar="URL",
    help="Post states and plans to VS Code's search debugger, http://localhost:PORT.",
)
@parameters.json_file
def command(files: tuple[Path, ...], overrides: tuple[str, ...], device: str, **options: object) -> int:
    """Find a plan for PROBLEM and keep shortening it until the time is up.

    Without DOMAIN, domain.pddl beside the problem is used. Plans are validated independently before they are
    printed or written. Exit codes are Fast Downward's: 0 plan found, 23 out of time, 31 bad PDDL, 34 unsupported.
    """
    from oclgen.solve_process import SolveRequest, run_request
    from oclgen.support.settings import parse_overrides

    domain, problem = domain_and_problem(files)
    settings = parse_overrides(overrides) | ({} if device == "cpu" else {"device": device})
    return run_request(SolveRequest(domain=domain, problem=problem, settings=settings, **options))  # type: ignore[arg-type]


def domain_and_problem(files: tuple[Path, ...]) -> tuple[Path, Path]:
    if len(files) == 1:
        domain = files[0].with_name("domain.pddl")
        if files[0].exists() and not domain.exists():
            raise InputError(f"no domain given and there is no {domain}")
        return domain, files[0]
    if len(files) != 2:
        raise InputError(f"expected [DOMAIN] PROBLEM, got {len(files)} files")
    return files[0], files[1]
