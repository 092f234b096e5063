"""From searches to a data set: what policy and heuristic learn in an iteration.

For each problem the better of the found and the known plan; where the search failed that is the teacher's plan, so
that the number of problems stays the same. With a bank, problems of earlier iterations stay, each with the best plan
that any iteration found. Beside a plan of the search come the extra examples of that search, if any were asked for:
more plans of the same length, other states as problems of their own, and dead ends.

Paper: Section 5.4 and Appendix "Self-improvement Details".
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from oclgen.data.dataset import Dataset, Row, Writer
from oclgen.data.dead_ends import dead_end_row
from oclgen.improve.pool import numbers_of, rows_of
from oclgen.improve.searching import Searched
from oclgen.support.files import replacing_folder

Best = dict[int, Searched]
"""By problem: the search with the shortest plan, the newest of equal ones, with the dead ends of all."""


def best_searches(searches: Iterable[Searched]) -> Best:
    """Of searches in the order they were made."""
    best: Best = {}
    dead_ends: dict[int, dict[str, None]] = defaultdict(dict)
    for search in searches:
        dead_ends[search.problem].update(dict.fromkeys(search.dead_ends))
        before = best.get(search.problem)
        if before is None or not before.solved or (search.solved and search.length <= before.length):
            best[search.problem] = search
    return {number: replace(search, dead_ends=tuple(dead_ends[number])) for number, search in best.items()}


def kept_length(search: Searched) -> int:
    """Of the better of the found and the known plan."""
    return min(search.length, search.known) if search.solved else search.known


def example_rows(best: Best, rows: Mapping[int, Row], method: str) -> Iterator[Row]:
    """Rows for finetuning, each with where it comes from as its outcome; the numbers are still those of the problem."""
    for number in sorted(best):
        search, row = best[number], rows[number]
        if row.split == "train":
            yield from (
                dead_end_row(replace(row, problem=problem), kept_length(search)) for problem in search.dead_ends
            )
        if search.length != kept_length(search):
            yield replace(row, outcome="known")
            continue
        found = replace(row, teacher=method, length=search.length, seconds=search.seconds, seed=search.seed)
        improved = "improved" if search.length < search.known else "equal"
        yield replace(found, outcome=improved, plan=search.plan)
        if row.split == "train":
            yield from (replace(found, outcome="plan", plan=plan) for plan in search.plans)
            for problem, plan in search.states:
                yield replace(found, outcome="state", problem=problem, plan=plan, length=plan.count("\n") - 1)


def teacher_rows(data: Dataset, left_out: Iterable[int], count: int, rng: random.Random) -> list[Row]:
    """Some training problems, other than those left out, with the teacher's plans."""
    excluded = set(left_out)
    others = [number for number in numbers_of(data, "train") if number not in excluded]
    chosen = rows_of(data, rng.sample(others, min(count, len(others))))
    return [replace(chosen[number], outcome="teacher") for number in sorted(chosen)]


def store(rows: Iterable[Row], folder: Path, recipe: Mapping[str, Any], domain_text: str) -> Counter[str]:
    """Write a data set, whole or not at all; how many rows of each origin it has."""
    counts: Counter[str] = Counter()
    with replacing_folder(folder) as made:
        writer = Writer(made, dict(recipe), domain_text)
        for number, row in enumerate(rows):
            parameters = json.dumps({"problem": row.id, "from": row.outcome})
            writer.append(replace(row, id=number, parameters=parameters, fingerprint=f"{row.fingerprint}-{number}"))
            counts[row.outcome if row.split == "train" else row.split] += 1
        writer.close()
    return counts
