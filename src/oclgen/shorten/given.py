"""A search that begins with a plan the user has: it yields that plan first and then only shorter ones."""

from oclgen.interfaces import Plan
from oclgen.search.anytime import Ending, Search


def beginning_with(plan: Plan, search: Search) -> Search:
    """The plan, then what a search finds that is shorter."""
    yield plan
    length = len(plan)
    while True:
        try:
            found = next(search)
        except StopIteration as stop:
            ending: Ending = stop.value
            return ending
        if len(found) < length:
            length = len(found)
            yield found
