"""A small Blocksworld data set without a teacher: unstack everything, then build the goal from the ground up."""

from pathlib import Path

from oclgen.data.dataset import Row, Writer
from oclgen.domains import catalog
from oclgen.interfaces import Action, Plan
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.task import PddlTask

SPLITS = {0: "val", 1: "test"}


def make_dataset(folder: Path, instances: int, blocks: str = "3..4") -> Path:
    """Every tenth problem is for validation, every tenth for testing."""
    spec = catalog.load("blocksworld")
    changes = catalog.overrides(spec, [f"blocks={blocks}"])
    writer = Writer(folder, {"source": "blocksworld"}, spec.domain_text)
    for index in range(instances):
        drawn = catalog.draw(spec, 1, index, changes)
        plan = naive_plan(PddlTask(spec.domain_text, drawn.text))
        split = SPLITS.get(index % 10, "train")
        text = format_plan(plan)
        writer.append(
            Row(index, split, drawn.name, drawn.text, str(index), text, len(plan), "solved", 0.0, "toy", "{}", 1, "{}")
        )
    writer.close()
    return folder


def naive_plan(task: PddlTask) -> Plan:
    plan: list[Action] = []
    state = task.initial_state
    while unstack := [action for action in task.applicable(state) if action[0] == "unstack"]:
        for action in (min(unstack), ("putdown", min(unstack)[1])):
            state = task.apply(state, action)
            plan.append(action)
    below = {atom[1]: atom[2] for atom in task.goal[0] if atom[0] == "on"}
    while below:
        block = min(upper for upper, lower in below.items() if lower not in below)
        plan += [("pickup", block), ("stack", block, below.pop(block))]
    return tuple(plan)
