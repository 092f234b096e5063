"""Plan files: one `(operator argument ...)` a line, then the cost; a file without the cost line is unfinished."""

import re
from pathlib import Path

from oclgen.errors import InputError
from oclgen.interfaces import Action, Plan
from oclgen.pddl.reading.source import Group, Source, Word, bad, read_file, read_groups, shown
from oclgen.support.files import write_text

COST = re.compile(r"^\s*;\s*cost\s*=\s*\d+", re.IGNORECASE | re.MULTILINE)


def parse_steps(text: str, name: str = "<plan>") -> list[tuple[int, Action]]:
    """Each action with the line it stands in."""
    return [(group.line, _action(group)) for group in read_groups(Source(name, text))]


def _action(group: Group) -> Action:
    if not group:
        raise bad(group, "expected an action, not ()")
    for word in group:
        if not isinstance(word, Word):
            raise bad(word, f"expected an action such as (move a b), not {shown(group)}")
    return tuple(str(word) for word in group)


def parse_plan(text: str, name: str = "<plan>") -> Plan:
    return tuple(action for _, action in parse_steps(text, name))


def read_plan(path: Path) -> Plan:
    origin = read_file(path, "plan")
    return parse_plan(origin.text, origin.name)


def format_plan(plan: Plan) -> str:
    steps = "".join(f"({' '.join(action)})\n" for action in plan)
    return f"{steps}; cost = {len(plan)} (unit cost)\n"


def is_complete(text: str) -> bool:
    """Whether the file has its last line, the cost."""
    return COST.search(text) is not None


def write_plan(path: Path, plan: Plan) -> None:
    """Written beside its place, then renamed, so that no reader ever sees half a plan.

    What is not a plain file (a pipe, /dev/null) is written to as it is.
    """
    text = format_plan(plan)
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            write_text(path, text)
    except OSError as error:
        raise InputError(f"{path}: cannot write this plan: {error.strerror}") from None
