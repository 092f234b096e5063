"""What one problem costs before anything is learned: the first rows of docs/scale.md, on the paper's ranges.

    python -m benchmarks.unit_costs [--domains labyrinth ...] [--count 16] [--drawn 60] [--limit 20m]

Printed for each domain, as means over fresh problems: processor seconds of LAMA-first (and of breadth-first search,
where that proves optima), our own processor time for such a problem (draw, read, compare, call the teacher, validate,
store), the part of it that the one process which draws problems has, and the words of a prompt. Processor time leaves
out what other programs on the machine take. A problem that reaches the limit counts with its seconds.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from oclgen.data.collect import collect
from oclgen.data.problems import Problems, problems
from oclgen.data.teacher import TeacherSettings
from oclgen.domains import catalog
from oclgen.encoding import WordsEncoding, bind, build_vocabulary
from oclgen.pddl.fingerprint import problem_fingerprint
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.reading.problem import read_problem
from oclgen.pddl.task import PddlTask
from oclgen.support.settings import format_duration, parse_duration

SEED = 7050
DOMAINS = ("blocksworld", "logistics", "sokoban", "labyrinth")
BREADTH_FIRST = ("labyrinth",)
"""Where breadth-first search is a teacher, too."""


@dataclass(frozen=True)
class TeacherCost:
    """Processor seconds per problem, and how many problems there were."""

    teacher: float
    own: float
    solved: int
    failed: int

    def line(self) -> str:
        failed = f", {self.failed} not solved" if self.failed else ""
        return f"{self.teacher:.2f} s, our own work {1000 * self.own:.0f} ms ({self.solved} solved{failed})"


def teacher_cost(name: str, teacher: str, count: int, limit: float) -> TeacherCost:
    """`oclgen data` in this process; the teacher's processes are its children."""
    source = problems(name, SEED, [])
    settings = TeacherSettings(teacher, limit, translate_options=source.translate_options)
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        *_, tally = collect(source, Path(folder), settings, count=count, val=0, test=0, seed=SEED, workers=1)
    tried = tally.solved + tally.failed
    own = (time.process_time() - started) / tried
    return TeacherCost(tally.teacher_seconds / tried, own, tally.solved, tally.failed)


def drawing_cost(source: Problems, count: int) -> float:
    """Processor seconds to draw, read and fingerprint a problem."""
    started = time.process_time()
    for index in range(count):
        problem = source.get(index)
        assert problem is not None
        problem_fingerprint(read_problem(source.domain_text, problem.text), source.meaningful_types)
    return (time.process_time() - started) / count


def prompt_words(name: str, source: Problems, count: int) -> float:
    """State and goal of a problem in the paper's tokens."""
    spec = catalog.load(name)
    vocabulary = build_vocabulary(read_domain(spec.domain_text), spec.defaults.encoding.as_table())
    encoding, lengths = WordsEncoding(vocabulary), []
    for index in range(count):
        problem = source.get(index)
        assert problem is not None
        task = PddlTask.of(read_problem(source.domain_text, problem.text), problem.name)
        lengths.append(len(encoding.prompt_rows(task.atoms(task.initial_state), bind(vocabulary, task))))
    return mean(lengths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domains", nargs="*", default=list(DOMAINS), choices=DOMAINS)
    parser.add_argument("--count", type=int, default=16, help="problems for each teacher; 0 leaves teachers out")
    parser.add_argument("--drawn", type=int, default=60, help="problems that are only drawn and encoded")
    parser.add_argument("--limit", default="20m", help="of a teacher for a problem")
    options = parser.parse_args()
    limit = parse_duration(options.limit)
    print(f"means on the paper's ranges, seed {SEED}; teachers have {format_duration(limit)} a problem")
    for name in options.domains:
        source = problems(name, SEED, [])
        drawing = 1000 * drawing_cost(source, options.drawn)
        print(f"{name}: draw, read and fingerprint {drawing:.1f} ms, ", end="")
        print(f"prompt {prompt_words(name, source, options.drawn):.0f} words ({options.drawn} problems)", flush=True)
        for teacher in ("lama-first", *(("bfs",) if name in BREADTH_FIRST else ())) if options.count else ():
            print(f"{name}: {teacher} {teacher_cost(name, teacher, options.count, limit).line()}", flush=True)


if __name__ == "__main__":
    main()
