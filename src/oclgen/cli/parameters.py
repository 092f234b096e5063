"""Parameters that several verbs share: durations (`10s`, `5m`, `2h`), memory sizes (`4G`), the options of a solve, and
who does the work."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from oclgen.errors import InputError
from oclgen.support.parallel import Workers
from oclgen.support.settings import parse_duration, parse_memory

Value = TypeVar("Value", int, float)
Command = Callable[..., Any]

MOST_CORES = 8
"""For one problem, unless the user asks for more."""


class Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Seconds; see `parse_duration`."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return float(value) if isinstance(value, int | float) else parsed(self, parse_duration, value, param, ctx)


class Memory(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Bytes; see `parse_memory`."""

    name = "memory"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return value if isinstance(value, int) else parsed(self, parse_memory, value, param, ctx)


def parsed(
    kind: click.ParamType,  # type: ignore[type-arg, unused-ignore]
    parse: Callable[[str], Value],
    value: object,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> Value:
    """A complaint becomes click's, which names the option."""
    try:
        return parse(str(value))
    except InputError as error:
        kind.fail(str(error), param, ctx)


def workers_options(command: Command) -> Command:
    """`--workers` and `--cluster`, for `working`."""
    command = click.option("--workers", type=click.IntRange(min=1), help="Default: one per core.")(command)
    return cluster_option(command)


cluster_option = click.option(
    "--cluster",
    metavar="auto|ADDRESS",
    envvar="OCLGEN_CLUSTER",
    help="Work on a Ray cluster: the one at ADDRESS, or the one of this machine (it is started if none is there).",
)


@contextmanager
def working(workers: int | None, cluster: str | None) -> Iterator[Workers]:
    """Processes of this machine, or the cluster, as long as the work lasts."""
    if not cluster:
        yield workers or os.cpu_count() or 1
        return
    from oclgen.support.cluster import joined

    with joined(cluster, workers) as found:
        yield found


def usable_cores() -> int:
    """The cores that this process may use, within reason for one problem."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    found = (os.cpu_count() or 1) if affinity is None else len(affinity(0))
    return min(found, MOST_CORES)


DURATION = Duration()
MEMORY = Memory()

time_limit = click.option(
    "--overall-time-limit",
    type=DURATION,
    default="10s",
    show_default=True,
    help="Wall-clock from process start, everything included.",
)
memory_limit = click.option("--overall-memory-limit", type=MEMORY, default="4G", show_default=True)
threads = click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=usable_cores,
    show_default=f"the cores there are, at most {MOST_CORES}",
    help="Cores to use. OCLGen searches once on each, and the searches share plans and states; with --iterations, and "
    "for other methods with models, one search runs its model on all. Competitions want 1.",
)
random_seed = click.option("--random-seed", default=0, show_default=True)
model = click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="Model folder, as oclgen learn makes it (default: the shipped model for this domain).",
)
own_models = click.option(
    "--model",
    "models",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A model folder of your own, used for its domain; repeatable. The shipped models are always known.",
)
json_file = click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Write the whole record of the run here."
)


def plan_file(more: str = "") -> Callable[[Command], Command]:
    return click.option(
        "--plan-file",
        type=click.Path(path_type=Path),
        default="sas_plan",
        show_default=True,
        help=f"Best plan; improving plans go to PLAN_FILE.1, .2, ...{more}",
    )
