"""What making a data set costs beside the teacher: our share of the processor time, and memory at many rows.

    python benchmarks/data.py [--count 60] [--workers 2] [--rows 100000] [--out result.json]

The share should stay at or below 10 % of a long run; that of the first rows carries the start of the processes, so
it is also given for the second half alone. Memory is that of a process that resumes a data set of `--rows` rows, adds
to it and reads it all, against one with a thousandth of them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from oclgen.data.collect import Tally, collect
from oclgen.data.dataset import Row, Writer, open_dataset
from oclgen.data.problems import problems
from oclgen.data.teacher import TeacherSettings
from oclgen.domains import catalog


def cost(name: str, count: int, workers: int) -> dict[str, float]:
    """Make a small data set with the domain's own ranges."""
    source = problems(name, 1, ())
    teacher = TeacherSettings(time_limit=60.0, translate_options=source.translate_options)
    with tempfile.TemporaryDirectory() as out:
        tallies = collect(source, Path(out), teacher, count=count, val=0, test=0, seed=1, workers=workers)
        started = time.monotonic()
        middle = own = 0.0
        tally = Tally()
        for tally in tallies:
            if sum(tally.rows.values()) == count // 2:
                middle, own = tally.teacher_seconds, own_seconds(tally)
        seconds = time.monotonic() - started
    late_own, late_teacher = own_seconds(tally) - own, tally.teacher_seconds - middle
    return {
        "own_share": tally.own_share,
        "own_share_second_half": late_own / (late_own + late_teacher),
        "cores_busy": (own_seconds(tally) + tally.teacher_seconds) / seconds,
        "problems_per_second": count / seconds,
    }


def own_seconds(tally: Tally) -> float:
    share = tally.own_share
    return tally.teacher_seconds * share / (1 - share)


def resume_and_read(out: Path, rows: int) -> None:
    """In a process of its own: fill a folder with made-up rows, as real runs do, and read it."""
    example = Row(0, "train", "p", "(define (problem p))" * 100, "", "(a b c)\n" * 80, 80, "", 0.0, "", "{}", 1, "{}")
    template = {field: getattr(example, field) for field in Row.__slots__}
    writer = Writer(out, {}, "(define (domain d))")
    for number in range(len(writer.fingerprints), rows):
        writer.append(Row(**{**template, "id": number, "name": f"p{number}", "fingerprint": f"{number:032x}"}))
    writer.close()
    assert sum(1 for _ in open_dataset(out).rows()) == rows


def peak_megabytes(rows: int) -> float:
    with tempfile.TemporaryDirectory() as out:
        code = (
            "import sys, resource; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
            "from benchmarks.data import resume_and_read;"
            "resume_and_read(Path(sys.argv[2]), int(sys.argv[3]) // 2);"
            "resume_and_read(Path(sys.argv[2]), int(sys.argv[3]));"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
        )
        command = [sys.executable, "-c", code, str(Path(__file__).parent.parent), out, str(rows)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="problems of each domain")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--domains", nargs="*", default=catalog.names())
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    options = parser.parse_args()
    result: dict[str, object] = {}
    for name in options.domains:
        figures = cost(name, options.count, options.workers)
        result[name] = figures
        print(f"{name:12}", "  ".join(f"{key} {value:.3f}" for key, value in figures.items()), flush=True)
    memory = {str(rows): peak_megabytes(rows) for rows in (options.rows // 1000, options.rows)}
    result["peak_megabytes"] = memory
    print("peak MB at rows:", memory)
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
