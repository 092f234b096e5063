"""What Ray costs beside processes: the same data set made by both, on the same cores.

    python -m benchmarks.cluster [--domain blocksworld] [--count 200] [--workers 2] [--rounds 3] [--out result.json]

The two take turns, and each round gives one ratio, so that other work on the machine hits both. `ratio` is the median
of (cluster / processes) in wall-clock seconds from the first problem to the last, the start of the workers included; it
should stay at or below 1.1. The start of Ray itself is a constant and is given apart.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median

from oclgen.data.collect import collect
from oclgen.data.dataset import open_dataset
from oclgen.data.problems import problems
from oclgen.data.teacher import TeacherSettings
from oclgen.support.cluster import joined
from oclgen.support.parallel import Workers


def seconds_for(domain: str, count: int, workers: Workers) -> tuple[float, str]:
    """How long a data set takes, and its fingerprint."""
    source = problems(domain, 1, ())
    teacher = TeacherSettings(time_limit=60.0, translate_options=source.translate_options)
    with tempfile.TemporaryDirectory() as out:
        started = time.monotonic()
        for _ in collect(source, Path(out), teacher, count=count, val=0, test=0, seed=1, workers=workers):
            pass
        return time.monotonic() - started, open_dataset(out).provenance()["fingerprint"]


def one_round(domain: str, count: int, workers: int) -> dict[str, float]:
    here, expected = seconds_for(domain, count, workers)
    started = time.monotonic()
    with joined("auto", workers) as cluster:
        start = time.monotonic() - started
        there, found = seconds_for(domain, count, cluster)
    assert found == expected, "the cluster made another data set"
    return {"processes": here, "cluster": there, "ratio": there / here, "start": start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="blocksworld")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    rounds = []
    for _ in range(asked.rounds):
        rounds.append(one_round(asked.domain, asked.count, asked.workers))
        print(", ".join(f"{name} {value:.2f}" for name, value in rounds[-1].items()), flush=True)
    result = {"rounds": rounds, "ratio": median(each["ratio"] for each in rounds)}
    print(f"ratio {result['ratio']:.3f}")
    if asked.out is not None:
        asked.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
