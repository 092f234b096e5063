"""The same problem with another initial state or with fewer goals, so that a plan becomes a training example."""

import random
from collections.abc import Iterable

from oclgen.interfaces import Atom
from oclgen.pddl.model import DomainInfo
from oclgen.pddl.reading.source import Group, Node, Source, Word, read_definition


def problem_from(problem: str, domain: DomainInfo, atoms: Iterable[Atom]) -> str:
    """The problem's text with `atoms` as the changeable part of its initial state; static facts and costs stay."""
    _, root = read_definition(Source("<problem>", problem), "problem")
    lines = [f"(define {_text(root[1])}"]
    for section in root[2:]:
        assert isinstance(section, Group)
        if section[0] == ":init":
            stay = [fact for fact in section[1:] if fact[0] == "=" or fact[0] in domain.static_predicates]
            facts = [*map(_text, stay), *(f"({' '.join(atom)})" for atom in sorted(atoms))]
            lines.append("\n".join(["(:init", *facts]) + ")")
        else:
            lines.append(_text(section))
    return "\n".join(lines) + ")\n"


def with_fewer_goals(problem: str, share: float, rng: random.Random) -> str:
    """The problem's text with a random share of the parts of its goal, at least one."""
    _, root = read_definition(Source("<problem>", problem), "problem")
    lines = [f"(define {_text(root[1])}"]
    for section in root[2:]:
        if isinstance(section, Group) and section[0] == ":goal":
            parts = _parts(section[1])
            kept = rng.sample(parts, min(len(parts), max(1, round(share * len(parts)))))
            lines.append(f"(:goal (and {' '.join(map(_text, kept))}))")
        else:
            lines.append(_text(section))
    return "\n".join(lines) + ")\n"


def goal_parts(problem: str) -> int:
    """How many parts the goal has; with one there are no fewer goals."""
    _, root = read_definition(Source("<problem>", problem), "problem")
    goals = [section[1] for section in root[2:] if isinstance(section, Group) and section[0] == ":goal"]
    return sum(len(_parts(goal)) for goal in goals)


def _parts(goal: Node) -> list[Node]:
    return goal[1:] if isinstance(goal, Group) and goal[:1] == ["and"] else [goal]


def _text(node: Node) -> str:
    return str(node) if isinstance(node, Word) else f"({' '.join(map(_text, node))})"
