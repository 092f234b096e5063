"""LAMA-first's mean plan length on fresh instances of each domain, beside the paper's (tab:main_results).

The check on the instance distributions as a whole: with the paper's ranges and its teacher, the means should agree
within their standard errors. An instance without a plan in time is counted, not averaged, so look at that column too:
the ones that run out of time have the long plans.

    python benchmarks/lama_lengths.py --count 200 --workers 2        solves; run again to go on
    python benchmarks/lama_lengths.py --data DIR [--data DIR ...]    reads data sets made by `oclgen data`

Each finished instance is a line of `--out`; instances already there are not solved again.
"""

import argparse
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from oclgen.classical.planners import PLANNERS
from oclgen.domains import catalog
from oclgen.search.anytime import Budget, Counters, run
from oclgen.support.files import JsonLines, read_json_lines
from oclgen.support.parallel import run_unordered
from oclgen.support.progress import Progress

PAPER = {
    "blocksworld": (79.43, 1.50),
    "logistics": (165.32, 3.42),
    "labyrinth": (25.78, 0.50),
    "sokoban": (149.05, 3.62),
}


@dataclass(frozen=True)
class Job:
    domain: str
    index: int
    seed: int
    seconds: float


@dataclass(frozen=True)
class Solved:
    """`length` is -1 where no plan was found in `limit` seconds."""

    domain: str
    index: int
    seed: int
    limit: float
    length: int
    seconds: float
    parameters: dict[str, int]


def solve(job: Job) -> Solved:
    spec = catalog.load(job.domain)
    drawn = catalog.draw(spec, job.seed, job.index)
    budget = Budget(seconds=job.seconds)
    options = spec.defaults.teacher.translate_options
    search = PLANNERS["lama-first"].plans(spec.domain_text, drawn.text, budget, translate_options=options)
    result = run(search, budget, Counters())
    length = -1 if result.plan is None else len(result.plan)
    return Solved(job.domain, job.index, job.seed, job.seconds, length, result.seconds, drawn.parameters)


def jobs(domains: Iterable[str], count: int, seed: int, seconds: float) -> Iterator[Job]:
    for name in domains:
        for drawn in islice(catalog.distinct(catalog.load(name), seed), count):
            yield Job(name, drawn.index, seed, seconds)


def stored(path: Path) -> dict[Job, Solved]:
    found = [Solved(**line) for line in read_json_lines(path)]
    return {Job(each.domain, each.index, each.seed, each.limit): each for each in found}


def solve_all(wanted: list[Job], out: Path, workers: int) -> list[Solved]:
    done = stored(out)
    open_jobs = [job for job in wanted if job not in done]
    progress = Progress(len(open_jobs), 0, "instance")
    out.parent.mkdir(parents=True, exist_ok=True)
    with JsonLines(out) as lines:
        for number, each in enumerate(run_unordered(solve, open_jobs, workers), 1):
            lines.append(asdict(each))
            progress.show(number)
    progress.close()
    return [each for job, each in stored(out).items() if job in set(wanted)]


def from_data_set(folder: Path) -> tuple[str, list[int]]:
    """The domain, marked where the data set's ranges are not the paper's, and the lengths of all its splits."""
    from oclgen.data import dataset, problems

    data = dataset.open_dataset(folder)
    name = str(data.recipe["source"])
    if name in PAPER and data.recipe["ranges"] != problems.problems(name, 0, ()).recipe["ranges"]:
        name += " (other ranges)"
    return name, [row.length for row in data.rows()]


def report(lengths: dict[str, list[int]]) -> None:
    """`off` is the difference of the means in standard errors of that difference."""
    print(f"{'domain':26} {'instances':>9} {'no plan':>7} {'mean length':>16} {'paper':>16} {'off':>6}")
    for name, all_lengths in lengths.items():
        known = [length for length in all_lengths if length >= 0]
        counts = f"{name:26} {len(all_lengths):9} {len(all_lengths) - len(known):7}"
        if len(known) < 2:
            print(counts)
            continue
        mean, error = statistics.fmean(known), statistics.stdev(known) / len(known) ** 0.5
        line = f"{counts} {mean:9.2f} ± {error:4.2f}"
        if name in PAPER:
            theirs, their_error = PAPER[name]
            off = (mean - theirs) / (error**2 + their_error**2) ** 0.5
            line += f" {theirs:9.2f} ± {their_error:4.2f} {off:+6.1f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description="LAMA-first's mean plan length beside the paper's.")
    parser.add_argument("--domain", action="append", choices=list(PAPER), help="default: all four")
    parser.add_argument("--count", type=int, default=200, help="instances a domain (default 200)")
    parser.add_argument("--random-seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=1200.0, help="seconds an instance (default: the paper's)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("build/lama_lengths.jsonl"), help="finished instances")
    parser.add_argument("--data", action="append", type=Path, metavar="DIR", help="read a data set instead of solving")
    arguments = parser.parse_args()
    lengths: dict[str, list[int]] = {}
    if arguments.data:
        for folder in arguments.data:
            name, found = from_data_set(folder)
            lengths.setdefault(name, []).extend(found)
    else:
        domains = arguments.domain or list(PAPER)
        wanted = list(jobs(domains, arguments.count, arguments.random_seed, arguments.time_limit))
        solved = solve_all(wanted, arguments.out, arguments.workers)
        lengths = {name: [each.length for each in solved if each.domain == name] for name in domains}
    report(lengths)


if __name__ == "__main__":
    main()
