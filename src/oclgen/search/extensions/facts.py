"""A sieve for plans and states, on sets of facts: what it lets through is then tried on the task itself.

To apply an action takes the task about ten microseconds, and finds the successor among all states. Action elimination
and shortcuts try hundreds of thousands of actions on a long plan, nearly all in vain; the sieve rejects these in less
than a microsecond each.
"""

import random
from collections.abc import Callable, Iterator, Sequence

from oclgen.interfaces import Action, Facts, FactTask, GroundAction, State
from oclgen.search.graph import SearchGraph

READ_AT_ONCE = 1000
"""States whose facts are read between two looks at the limits, about 10 ms."""


def reaches_goal(task: FactTask, state: State, actions: Sequence[Action]) -> bool:
    """Whether the actions that are applicable, each in turn, may lead to a goal; false only if they do not."""
    facts = set(task.facts(state))
    for action in actions:
        ground = task.ground(action)
        if ground.needed <= facts and ground.forbidden.isdisjoint(facts):
            added, deleted = changes(ground, facts)
            facts -= deleted
            facts |= added
    true, false = task.goal_facts
    return true <= facts and false.isdisjoint(facts)


def changes(ground: GroundAction, facts: Facts | set[int]) -> tuple[Facts, Facts]:
    """What an applicable action adds, and what it deletes unless it adds it."""
    if len(ground.effects) == 1 and not ground.effects[0].needed and not ground.effects[0].forbidden:
        return ground.effects[0].added, ground.effects[0].deleted
    met = [each for each in ground.effects if each.needed <= facts and each.forbidden.isdisjoint(facts)]
    return frozenset().union(*(each.added for each in met)), frozenset().union(*(each.deleted for each in met))


class KnownStates:
    """The states of a search graph by a number each: the exclusive or of random numbers, one for each fact."""

    def __init__(self, task: FactTask, graph: SearchGraph, should_stop: Callable[[], bool] = lambda: False) -> None:
        self._task, self._graph, self._should_stop = task, graph, should_stop
        self._rng = random.Random(0)
        self._number: dict[int, int] = {}
        self._known: set[int] = set()
        self._seen = 0

    def candidates(self, state: State, actions: Sequence[Action]) -> Iterator[Action]:
        """Those of the applicable actions that may lead to another known state or to a goal."""
        self._read_new_states()
        facts = self._task.facts(state)
        here = self._number_of(facts)
        true, false = self._task.goal_facts
        missing, wrong = true - facts, false & facts
        for action in actions:
            added, deleted = changes(self._task.ground(action), facts)
            changed = (added - facts) | ((deleted & facts) - added)
            leads_on = here ^ self._number_of(changed) in self._known or (missing <= added and wrong <= deleted)
            if changed and leads_on:
                yield action

    def _read_new_states(self) -> None:
        while self._seen < len(self._graph) and not self._should_stop():
            last = min(self._seen + READ_AT_ONCE, len(self._graph))
            for node in range(self._seen, last):
                self._known.add(self._number_of(self._task.facts(self._graph.state(node))))
            self._seen = last

    def _number_of(self, facts: Facts) -> int:
        number, total = self._number, 0
        for fact in facts:
            try:
                total ^= number[fact]
            except KeyError:
                total ^= number.setdefault(fact, self._rng.getrandbits(62))
        return total
