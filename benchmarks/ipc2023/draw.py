"""Problems two to four times as large as the training problems of IPC 2023's learning track, for `oclgen bench`.

    python -m benchmarks.ipc2023.draw FOLDER OUT --count 10

FOLDER holds the track's domains (FOLDER/ferry/domain.pddl, ...). OUT gets a folder for each domain, with its
`domain.pddl` and problems p01 to p10 whose sizes grow evenly from the first to the last of `SIZES`. The same seed draws
the same problems.
"""

import argparse
import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.ipc2023.boards import sokoban
from benchmarks.ipc2023.drawing import (
    blocksworld,
    childsnack,
    ferry,
    floortile,
    miconic,
    rovers,
    satellite,
    spanner,
    transport,
)

SIZES: dict[str, tuple[Callable[..., str], dict[str, tuple[int, int]]]] = {
    "blocksworld": (blocksworld, {"blocks": (58, 116)}),
    "childsnack": (childsnack, {"children": (20, 40), "allergic": (8, 16), "trays": (4, 6), "sandwiches": (25, 50)}),
    "ferry": (ferry, {"cars": (40, 80), "locations": (30, 60)}),
    "floortile": (floortile, {"rows": (7, 9), "columns": (7, 12), "robots": (3, 5)}),
    "miconic": (miconic, {"passengers": (20, 40), "floors": (40, 80)}),
    "rovers": (rovers, {"rovers": (6, 10), "waypoints": (20, 40), "cameras": (8, 14), "objectives": (20, 40)}),
    "satellite": (
        satellite,
        {"satellites": (15, 25), "instruments": (40, 80), "modes": (4, 6), "directions": (20, 40)},
    ),
    "sokoban": (sokoban, {"grid": (18, 26), "boxes": (5, 8)}),
    "spanner": (spanner, {"spanners": (20, 40), "nuts": (10, 20), "locations": (20, 40)}),
    "transport": (transport, {"vehicles": (8, 12), "packages": (30, 60), "locations": (30, 60)}),
}
"""Each domain's sizes in the first and in the last problem; at most half of the first is in the training problems."""


def draw(domain: str, number: int, count: int, seed: int) -> str:
    """Problem `number` of `count`, from 1."""
    generator, sizes = SIZES[domain]
    share = (number - 1) / max(1, count - 1)
    drawn = {name: round(low + share * (high - low)) for name, (low, high) in sizes.items()}
    return generator(random.Random(f"{seed}/{domain}/{number}"), **drawn)


def write(source: Path, out: Path, domain: str, count: int, seed: int) -> None:
    file = source / domain / "domain.pddl"
    if not file.is_file():
        raise SystemExit(f"{file}: missing; give the folder of the learning track's domains")
    folder = out / domain
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "domain.pddl").write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    for number in range(1, count + 1):
        (folder / f"p{number:02}.pddl").write_text(draw(domain, number, count, seed), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--random-seed", type=int, default=2023)
    options = parser.parse_args()
    for domain in SIZES:
        write(options.folder, options.out, domain, options.count, options.random_seed)


if __name__ == "__main__":
    main()
