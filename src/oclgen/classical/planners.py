"""The classical planners by name. To add one, add its entry here: the rest of the package asks for its properties."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from oclgen.classical.breadth_first import BreadthFirst
from oclgen.classical.fast_downward import LAMA, LAMA_FIRST, LMCUT, FastDownward
from oclgen.search.anytime import Budget, Counters, Search


class ClassicalPlanner(Protocol):
    """A planner that needs no model."""

    @property
    def name(self) -> str: ...
    @property
    def anytime(self) -> bool:
        """Whether it goes on to shorter plans after its first."""
        ...

    @property
    def optimal(self) -> bool:
        """Whether each of its plans is proved to be a shortest one."""
        ...

    @property
    def teaches(self) -> bool:
        """Whether models may learn from its plans."""
        ...

    def plans(
        self,
        domain: str | Path,
        problem: str | Path,
        budget: Budget,
        *,
        translate_options: Sequence[str] = (),
        counters: Counters | None = None,
        scratch: Path | None = None,
    ) -> Search:
        """Yield improving plans; `domain` and `problem` are paths or PDDL texts.

        The planner runs in a private folder inside `scratch` (default: the system's place for temporary files). The
        folder stays behind only if this process is killed. `translate_options` are Fast Downward's.
        """
        ...


ENTRIES: tuple[ClassicalPlanner, ...] = (
    FastDownward("lama-first", LAMA_FIRST),
    FastDownward("lama", LAMA, anytime=True),
    FastDownward("lmcut", LMCUT, optimal=True),
    BreadthFirst(),
)
PLANNERS = {planner.name: planner for planner in ENTRIES}
OPTIMAL = tuple(planner.name for planner in ENTRIES if planner.optimal)
TEACHERS = tuple(planner.name for planner in ENTRIES if planner.teaches)
