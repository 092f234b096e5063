"""`oclgen bench`: run methods on problems as a config declares."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from oclgen.cli.parameters import cluster_option, working
from oclgen.support.progress import LiveLine
from oclgen.support.settings import format_duration

if TYPE_CHECKING:
    from oclgen.bench.benchmark import BenchProgress


@click.command()
@click.option("--config", "config_file", type=click.Path(path_type=Path), required=True, metavar="FILE")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where the records go.")
@click.option("--workers", type=click.IntRange(min=1), help="Cores to use (default: all that are free).")
@click.option("--domain", "domains", multiple=True, help="Only this domain of the config; may be repeated.")
@click.option("--time-limit", metavar="DURATION", help="Of every run, instead of the config's limits.")
@cluster_option
@click.option("--shard", default="1/1", metavar="I/N", help="Run only part I of N; join the parts by `oclgen merge`.")
def command(
    config_file: Path,
    out: Path,
    workers: int | None,
    domains: tuple[str, ...],
    time_limit: str | None,
    cluster: str | None,
    shard: str,
) -> None:
    """Run every method on every problem that FILE declares, one run per core at a time.

    Each run is a process of its own and leaves one line in DIR/records.jsonl. The same command again goes on where
    it stopped. `oclgen report DIR` makes tables and figures of the records.
    """
    from oclgen.bench.benchmark import BenchProgress, run_benchmark
    from oclgen.bench.config import narrowed, read_config
    from oclgen.support.shards import Shard

    progress, line = BenchProgress(0, 0, 0, None), LiveLine()
    config = narrowed(read_config(config_file), time_limit)
    part = Shard.parse(shard)
    with working(workers, cluster) as hands:
        for progress in run_benchmark(config, config_file, out, hands, part, domains):
            if progress.error:
                line.say(f"BROKEN: {progress.error}")
            line.show(progress_text(progress))
    line.say(f"{progress.done}/{progress.total} runs recorded in {out}, {progress.broken} broken")


def progress_text(progress: "BenchProgress") -> str:
    left = "?" if progress.left is None else format_duration(progress.left)
    counts = f"{progress.done}/{progress.total} runs, {progress.rate:.2f} run/s, {left} left, {progress.broken} broken"
    return ", ".join(filter(None, [counts, progress.note]))
