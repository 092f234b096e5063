"""Dead ends: states from which no plan leads to the goal, as a classical planner proves.

A model that has learned from plans alone has never seen one. So where the planner proves one, the heuristic learns that
it is far from the goal, and the policy that nothing leads on.
"""

from collections.abc import Sequence
from dataclasses import replace

from oclgen.data.attempts import run_classical
from oclgen.data.dataset import DEAD_END, TRAIN, Row
from oclgen.errors import OclgenError
from oclgen.pddl.plan_file import format_plan
from oclgen.search.anytime import Ending, SearchResult

PLANNER = "lama-first"
MEMORY_LIMIT = 4 << 30
FACTOR, LEAST_COST = 3, 30
"""A dead end counts as so many times the plan of its problem, and at least as this."""


def ask(domain_text: str, problem: str, seconds: float, translate_options: Sequence[str] = ()) -> SearchResult | None:
    """What the planner finds out about a state; None if it fails in a way of its own."""
    try:
        return run_classical(
            PLANNER,
            domain_text,
            problem,
            seconds=seconds,
            memory_bytes=MEMORY_LIMIT,
            translate_options=translate_options,
        )
    except OclgenError:
        return None


def is_dead_end(result: SearchResult | None) -> bool:
    return result is not None and result.plan is None and result.ending is Ending.EXHAUSTED


def dead_end_row(row: Row, length: int) -> Row:
    """A row whose problem starts at a dead end, to be learned from; `length` is that of a plan of the whole problem."""
    cost = max(LEAST_COST, FACTOR * length)
    return replace(row, split=TRAIN, outcome=DEAD_END, plan=format_plan(()), length=cost)
