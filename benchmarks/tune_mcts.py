"""Progressive widening of MCTS tuned on validation problems: a grid at equal time, with the shipped model by default.

    python -m benchmarks.tune_mcts data/blocksworld --count 20 --seconds 10 [--factor 1 --factor 2] [--exponent 0.25]

DATA is a data set of `oclgen data`; its validation split serves, never its test split. Prints, for each pair, how many
problems it solved and its mean length on those that all pairs solved. Run it on a machine that does nothing else; the
best pair belongs into the model's solve.toml as `widening_factor` and `widening_exponent`.
"""

import argparse
import statistics
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from oclgen import solve
from oclgen.data import dataset
from oclgen.loaded_model import LoadedModel

Pair = tuple[float, float]


def lengths(
    data: dataset.Dataset, rows: list[dataset.Row], pairs: list[Pair], arguments: argparse.Namespace
) -> Iterator[dict[Pair, int | None]]:
    """For each problem the length that each pair found; a problem has all pairs in turn, so noise hits them alike."""
    model = LoadedModel(arguments.model) if arguments.model else None
    for row in rows:
        found: dict[Pair, int | None] = {}
        for pair in pairs:
            settings = {"widening_factor": pair[0], "widening_exponent": pair[1]}
            result = solve(
                data.domain_text,
                row.problem,
                time_limit=arguments.seconds,
                method=arguments.method,
                model=model,
                profile=arguments.profile,
                settings=settings,
            )
            found[pair] = None if result.plan is None else len(result.plan)
        yield found


def report(pairs: list[Pair], results: list[dict[Pair, int | None]]) -> None:
    common = [found for found in results if None not in found.values()]
    for pair in pairs:
        solved = sum(found[pair] is not None for found in results)
        known = [length for found in common if (length := found[pair]) is not None]
        mean = f"{statistics.mean(known):.2f}" if known else "-"
        print(
            f"factor {pair[0]:5.2f}  exponent {pair[1]:5.2f}  solved {solved} of {len(results)}  "
            f"mean length {mean} on {len(common)} common ones"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--method", choices=("mcts", "mcts-partial"), default="mcts")
    parser.add_argument("--profile", choices=("paper", "extended"), default="extended")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--factor", type=float, action="append")
    parser.add_argument("--exponent", type=float, action="append")
    arguments = parser.parse_args()
    pairs = list(product(arguments.factor or [0.5, 1.0, 2.0], arguments.exponent or [0.1, 0.25, 0.5]))
    data = dataset.open_dataset(arguments.data)
    rows = list(islice(data.rows(dataset.VAL), arguments.count))
    report(pairs, list(lengths(data, rows, pairs, arguments)))


if __name__ == "__main__":
    main()
