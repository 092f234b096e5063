"""oclgen: a learned anytime planner.

from oclgen import solve
result = solve("domain.pddl", "problem.pddl", time_limit=10)
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"
__all__ = ["LoadedModel", "__version__", "improving_plans", "solve"]

if TYPE_CHECKING:
    from oclgen.loaded_model import LoadedModel
    from oclgen.planner import improving_plans, solve


def __getattr__(name: str) -> Any:
    """Load the planner when it is first asked for, so that `oclgen --help` stays quick."""
    if name in ("LoadedModel", "improving_plans", "solve"):
        from oclgen import planner

        return getattr(planner, name)
    raise AttributeError(f"module 'oclgen' has no attribute {name!r}")
