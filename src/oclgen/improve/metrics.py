"""What a loop has reached, as tables for figures and as lines for people.

`iteration-K/metrics.json`: iteration, method, samples; problems, solved, completion (a share), mean_length, se and
teacher_length of Best-of-N on the test problems (lengths over the solved ones); from the first iteration on also
`search` and `validation_search` (the searches it learned from, and those on the ever same validation problems), and the
metrics of the training run (or both). `loop.json`: domain, method, and for each iteration the same figures of Best-of-N
with `common_length`, the mean over the problems that every iteration solved.

Paper: tab:improvement_loop.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oclgen.data.dataset import Dataset
from oclgen.improve.evaluation import Tried, common_lengths, mean, summary
from oclgen.improve.finetune import kinds
from oclgen.improve.searching import Searched
from oclgen.improve.settings import ImproveSettings
from oclgen.improve.training_data import kept_length
from oclgen.support.files import read_json

SUMMARY = ("iteration", "completion", "mean_length", "se", "problems", "solved", "teacher_length")


def of_iteration(
    number: int, settings: ImproveSettings, folder: Path, tried: Sequence[Tried], searches: Sequence[Searched]
) -> dict[str, Any]:
    table = {
        "iteration": number,
        "method": settings.search.method,
        "samples": settings.evaluation.samples,
        **summary(tried),
    }
    if number:
        table["search"] = of_searches([each for each in searches if each.split == "train"])
        table["validation_search"] = of_searches([each for each in searches if each.split == "val"])
        table |= {kind: read_json(folder / kind / "metrics.json") for kind in kinds(folder)}
    return table


def of_searches(searches: Sequence[Searched]) -> dict[str, Any]:
    """Mean lengths of the plans that were known, found (where solved) and kept."""
    solved = [each for each in searches if each.solved]
    return {
        "problems": len(searches),
        "solved": len(solved),
        "improved": sum(each.length < each.known for each in solved),
        "known_length": mean([float(each.known) for each in searches]),
        "found_length": mean([float(each.length) for each in solved]),
        "kept_length": mean([float(kept_length(each)) for each in searches]),
        "seconds": sum(each.seconds for each in searches),
    }


def of_loop(
    settings: ImproveSettings, data: Dataset, tables: Sequence[Mapping[str, Any]], tried: Sequence[Sequence[Tried]]
) -> dict[str, Any]:
    iterations = [
        {**{key: table[key] for key in SUMMARY}, "common_length": length}
        for table, length in zip(tables, common_lengths(tried), strict=True)
    ]
    method, samples = settings.search.method, settings.evaluation.samples
    domain = data.recipe.get("source", "")
    return {"format": 1, "domain": domain, "method": method, "samples": samples, "iterations": iterations}


def search_line(number: int, searches: Sequence[Searched]) -> str:
    found = of_searches([each for each in searches if each.split == "train"])
    return (
        f"iteration {number}: {found['solved']} of {found['problems']} solved, {found['improved']} improved; "
        f"mean length {found['known_length']:.2f} known, {found['kept_length']:.2f} kept"
    )


def evaluation_line(table: Mapping[str, Any]) -> str:
    length = "no plan" if table["mean_length"] is None else f"mean length {table['mean_length']:.2f}"
    error = "" if table["se"] is None else f" (± {table['se']:.2f})"
    return (
        f"iteration {table['iteration']}: best of {table['samples']} completes {100 * table['completion']:.1f} % "
        f"of {table['problems']} test problems, {length}{error}"
    )
