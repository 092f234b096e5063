"""`oclgen solve`: find a plan and keep shortening it until the time is up."""

from pathlib import Path

import click

from oclgen.cli.parameters import DURATION, MEMORY
from oclgen.errors import InputError


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="[DOMAIN] PROBLEM", type=click.Path(path_type=Path))
@click.option(
    "--method",
    help="oclgen, mcts, mcts-partial, astar, gbfs, best-of-n, lama-first, lama, lmcut or bfs. "
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
@click.option("--iterations", type=click.IntRange(min=1), help="Stop after this many search iterations.")
@click.option("--random-seed", default=0, show_default=True)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="Model folder, as oclgen learn makes it (default: the shipped model for this domain).",
)
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
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Of the engine that runs a relational model on the CPU; the plans are the same.",
)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override one search setting; repeatable.")
@click.option(
    "--plan-file",
    type=click.Path(path_type=Path),
    default="sas_plan",
    show_default=True,
    help="Best plan; improving plans go to PLAN_FILE.1, .2, ...",
)
@click.option("--plan", type=click.Path(path_type=Path), help="Start from this plan; only shorter ones are looked for.")
@click.option(
    "--search-tree-dump",
    metavar="URL",
    help="Post states and plans to VS Code's search debugger, http://localhost:PORT.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the whole record of the run here.")
def command(files: tuple[Path, ...], overrides: tuple[str, ...], device: str, threads: int, **options: object) -> int:
    """Find a plan for PROBLEM and keep shortening it until the time is up.

    Without DOMAIN, domain.pddl beside the problem is used. Plans are validated independently before they are
    printed or written. Exit codes are Fast Downward's: 0 plan found, 23 out of time, 31 bad PDDL, 34 unsupported.
    """
    from oclgen.planner import with_threads
    from oclgen.solve_process import SolveRequest, run_request
    from oclgen.support.settings import parse_overrides

    domain, problem = domain_and_problem(files)
    settings = parse_overrides(overrides) | ({} if device == "cpu" else {"device": device})
    settings = with_threads(settings, threads)
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
