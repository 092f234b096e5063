"""The one way the generators print a PDDL problem: a fixed layout, one atom per line, a placeholder name.

The name is a placeholder because it carries the seed, which a generator never sees: `catalog.draw` fills it in.
"""

from collections.abc import Iterable, Sequence

PLACEHOLDER = "unnamed"

Objects = Sequence[tuple[str | None, Sequence[str]]]
"""Type and members, in print order; type None = untyped."""


def problem_text(
    domain: str, objects: Objects, init: Iterable[str], goal: Iterable[str], metric: str | None = None
) -> str:
    """A problem; atoms come without parentheses: `"on b1 b2"`. A type without members is left out."""
    lines = [f"(define (problem {PLACEHOLDER})", f"  (:domain {domain})", "  (:objects"]
    lines += [f"    {' '.join(names)}{f' - {kind}' if kind else ''}" for kind, names in objects if names]
    lines += ["  )", "  (:init", *(f"    ({atom})" for atom in init), "  )"]
    lines += ["  (:goal (and", *(f"    ({atom})" for atom in goal), "  ))"]
    if metric is not None:
        lines.append(f"  (:metric {metric})")
    return "\n".join([*lines, ")", ""])
