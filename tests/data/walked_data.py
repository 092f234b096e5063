"""Data sets of any domain without a teacher: the goal of a problem is part of what a random walk ends in."""

import random
from collections.abc import Sequence
from pathlib import Path

from oclgen.data.dataset import Dataset, Row, Writer, open_dataset
from oclgen.domains import catalog
from oclgen.interfaces import Atom, Plan
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.task import PddlTask
from tests.pddl.samples import SMALL


def walked_row(number: int, domain_text: str, problem: str, split: str = "train", steps: int = 12) -> Row:
    """Goals of both signs: some atoms that hold at the end, some that no longer do."""
    rng = random.Random(number)
    task = PddlTask(domain_text, problem)
    state, plan = task.initial_state, []
    for _ in range(rng.randint(1, steps)):
        actions = task.applicable(state)
        if not actions:
            break
        plan.append(rng.choice(actions))
        state = task.apply(state, plan[-1])
    end = set(task.atoms(state))
    wanted = sorted(end - set(task.atoms(task.initial_state))) + sorted(end)[:2]
    unwanted = sorted(set(task.atoms(task.initial_state)) - end)[:3]
    text = problem[: problem.index("(:goal")] + f"(:goal (and {literals(wanted)} {literals(unwanted, 'not')})))"
    return solved_row(number, text, tuple(plan), split)


def solved_row(number: int, problem: str, plan: Plan, split: str) -> Row:
    """A row whose plan comes from a random walk."""
    return Row(
        id=number,
        split=split,
        name=f"p{number}",
        problem=problem,
        fingerprint=str(number),
        plan=format_plan(plan),
        length=len(plan),
        outcome="solved",
        seconds=0.0,
        teacher="walk",
        parameters="{}",
        seed=number,
        versions="{}",
    )


def literals(atoms: Sequence[Atom], sign: str = "") -> str:
    texts = [f"({' '.join(atom)})" for atom in atoms]
    return " ".join(f"({sign} {text})" if sign else text for text in texts)


def walked_rows(domain: str, count: int, ranges: Sequence[str] | None = None) -> list[Row]:
    """Every fifth problem is for validation."""
    spec = catalog.load(domain)
    changes = catalog.overrides(spec, SMALL[domain] if ranges is None else ranges)
    texts = [catalog.draw(spec, 3, number, changes).text for number in range(count)]
    return [
        walked_row(number, spec.domain_text, text, "val" if number % 5 == 4 else "train")
        for number, text in enumerate(texts)
    ]


def written(folder: Path, domain_text: str, rows: Sequence[Row]) -> Dataset:
    writer = Writer(folder, {"source": "walks"}, domain_text)
    for row in rows:
        writer.append(row)
    writer.close()
    return open_dataset(folder)


def walked_dataset(folder: Path, domain: str, count: int, ranges: Sequence[str] | None = None) -> Dataset:
    return written(folder, catalog.load(domain).domain_text, walked_rows(domain, count, ranges))
