"""PDDL text of a problem from its parts."""

from collections.abc import Iterable, Mapping, Sequence


def problem_text(
    name: str, domain: str, objects: Mapping[str, Sequence[str]], init: Iterable[str], goal: Iterable[str]
) -> str:
    """`objects` are names by type; facts are written without their parentheses."""
    typed = [f"    {' '.join(names)} - {kind}" for kind, names in objects.items() if names]
    return "\n".join(
        [
            f"(define (problem {name})",
            f"  (:domain {domain})",
            "  (:objects",
            *typed,
            "  )",
            "  (:init",
            *(f"    ({fact})" for fact in init),
            "  )",
            "  (:goal (and",
            *(f"    ({fact})" for fact in goal),
            "  )))",
            "",
        ]
    )


def numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(1, count + 1)]
