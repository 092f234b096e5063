"""Which method serves a domain when the user names none: the model if there is one, else a classical planner."""

from typing import NamedTuple

from oclgen.classical.fast_downward import is_installed
from oclgen.model_folders import has_model
from oclgen.pddl.model import DomainInfo

NAMES = {"lama": "LAMA (Fast Downward)", "bfs": "breadth-first search"}


class MethodChoice(NamedTuple):
    """A method and, where it is not OCLGen, one line that says why and what to do about it."""

    method: str
    note: str | None = None


def choose_method(domain: DomainInfo, model: object = None) -> MethodChoice:
    """OCLGen where a model was given or one is shipped for the domain, else the classical planner that is there."""
    if model is not None or has_model(domain):
        return MethodChoice("oclgen")
    method = classical_method(domain)
    return MethodChoice(
        method, f"No model for domain {domain.name}: {NAMES[method]} serves; `oclgen learn` makes a model."
    )


def classical_method(domain: DomainInfo) -> str:
    """LAMA where Fast Downward is installed and can read the domain, else breadth-first search."""
    uses_either = any(len(types) > 1 for types in domain.variable_types)
    return "lama" if is_installed() and not uses_either else "bfs"
