"""What each kind of extra example is worth: one iteration of a finished loop, learned anew from the same searches.

    python benchmarks/extra_examples.py LOOP OUT [--iteration 2] [--time 4m] [--set table.key=value ...]

LOOP is the folder of an `oclgen improve` that searched with `extra.plans` and `extra.states`, so that its journal
holds them. Every variant starts from the weights before the iteration and finetunes the policy for the same time on
what it takes from the same journal; then it is tried by Best-of-N on the loop's test problems, with the same seeds.
Printed: completion, mean length, and the paired difference from the plain loop of the paper (Wilcoxon). The
heuristic takes no part in Best-of-N, so it is hardly finetuned. The same command again goes on where it was stopped.
"""

import argparse
import dataclasses
import shutil
from pathlib import Path

from scipy.stats import wilcoxon

from oclgen.improve.loop import ImprovementLoop, improve
from oclgen.improve.settings import ExtraExamples, ImproveSettings, read_settings, save_settings
from oclgen.support.files import read_json_lines, replacing_folder, write_json_lines

VARIANTS = {
    "plain": ExtraExamples(),
    "bank": ExtraExamples(bank=True),
    "graph": ExtraExamples(plans=2, states=6),
    "teacher": ExtraExamples(teacher=0.5),
    "bank and graph": ExtraExamples(bank=True, plans=2, states=6),
}
HEURISTIC_TIME = "10s"


def variant_settings(
    loop: Path, extra: ExtraExamples, iteration: int, time: str, changes: list[str]
) -> ImproveSettings:
    times = [f"policy.schedule.time={time}", f"heuristic.schedule.time={HEURISTIC_TIME}", f"n_loop={iteration}"]
    return dataclasses.replace(read_settings(loop / "settings.json", [*times, *changes]), extra=extra)


def prepare_variant(loop: Path, folder: Path, settings: ImproveSettings) -> None:
    """The loop as it stood when the searches of the iteration had ended, its journals cut down to the extra."""
    with replacing_folder(folder) as made:
        for number in range(settings.n_loop):
            skipped = shutil.ignore_patterns("training", "data")
            shutil.copytree(loop / f"iteration-{number}", made / f"iteration-{number}", ignore=skipped)
        last = made / f"iteration-{settings.n_loop}"
        last.mkdir()
        for name in ("problems.json", "searches.jsonl"):
            shutil.copy(loop / last.name / name, last / name)
        for number in range(1, settings.n_loop + 1):
            cut_down(made / f"iteration-{number}" / "searches.jsonl", settings.extra)
        save_settings(made / "settings.json", settings)


def cut_down(journal: Path, extra: ExtraExamples) -> None:
    lines = list(read_json_lines(journal))
    for line in lines:
        line["plans"], line["states"] = line["plans"][: extra.plans - 1], line["states"][: extra.states]
    write_json_lines(journal, lines)


def lengths(folder: Path, settings: ImproveSettings) -> dict[int, int | None]:
    return {tried.problem: tried.length for tried in ImprovementLoop(settings, folder, 1).tried(settings.n_loop)}


def row(name: str, found: dict[int, int | None], plain: dict[int, int | None]) -> str:
    common = [(a, b) for key, a in found.items() if a is not None and (b := plain[key]) is not None]
    solved = [length for length in found.values() if length is not None]
    line = f"{name:16} {len(solved) / len(found):7.1%} {sum(solved) / len(solved):8.2f}"
    if found is plain:
        return line
    differences = [a - b for a, b in common]
    probability = wilcoxon(differences).pvalue if any(differences) else 1.0
    signs = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
    mean = sum(differences) / len(differences)
    return f"{line} {mean:+8.2f} {probability:9.2g} {signs[0]:7} {signs[1]:7}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--iteration", type=int, default=2)
    parser.add_argument("--time", default="4m", help="of finetuning the policy")
    parser.add_argument("--set", dest="changes", action="append", default=[], help="another setting of the loop")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[int, int | None]] = {}
    for name, extra in VARIANTS.items():
        settings = variant_settings(asked.loop, extra, asked.iteration, asked.time, asked.changes)
        folder = asked.out / name.replace(" ", "-")
        if not folder.exists():
            prepare_variant(asked.loop, folder, settings)
        for _ in improve(settings, folder, None, asked.workers, resume=True):
            pass
        found[name] = lengths(folder, settings)
    print(f"{'extra':16} {'solved':>7} {'length':>8} {'change':>8} {'p':>9} {'shorter':>7} {'longer':>7}")
    for name, each in found.items():
        print(row(name, each, found["plain"]))


if __name__ == "__main__":
    main()
