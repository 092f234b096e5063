import random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from oclgen.search.open_lists import SLACK, OpenLists


class OpenListsAgainstDictionaries(RuleBasedStateMachine):
    """The same operations on `OpenLists` and on a dictionary; `first` must have the least (priority, arrival)."""

    @initialize(nodes=st.integers(1, 12))
    def start(self, nodes: int) -> None:
        self.lists = OpenLists()
        self.model: dict[int, tuple[int, int, int]] = {}  # node -> depth, priority, arrival
        self.arrivals = 0
        self.nodes = nodes
        for _ in range(nodes):
            self.lists.add_node()

    @rule(data=st.data(), depth=st.integers(0, 4), priority=st.integers(0, 5))
    def push(self, data: Any, depth: int, priority: int) -> None:
        node = data.draw(st.integers(0, self.nodes - 1))
        if node in self.model:
            self.lists.remove(self.model.pop(node)[0], node)
        self.lists.push(depth, priority, node)
        self.arrivals += 1
        self.model[node] = (depth, priority, self.arrivals)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: Any) -> None:
        node = data.draw(st.sampled_from(sorted(self.model)))
        self.lists.remove(self.model.pop(node)[0], node)

    @invariant()
    def agree(self) -> None:
        assert sorted(self.lists.entries()) == sorted((depth, node) for node, (depth, _, _) in self.model.items())
        assert self.lists.depths == sorted({depth for depth, _, _ in self.model.values()})
        for node in range(self.nodes):
            assert (node in self.lists) == (node in self.model)
        for depth in range(6):
            order = sorted((p, arrival, node) for node, (d, p, arrival) in self.model.items() if d == depth)
            assert self.lists.is_empty(depth) == (not order)
            if order:
                assert self.lists.first(depth) == order[0][2]


TestOpenLists = OpenListsAgainstDictionaries.TestCase
TestOpenLists.settings = settings(max_examples=60, stateful_step_count=40)


def test_dead_entries_are_removed() -> None:
    lists = OpenLists()
    rng = random.Random(0)
    for node in range(10):
        lists.add_node()
        lists.push(0, 5, node)
    for _ in range(5000):
        node = rng.randrange(10)
        lists.remove(0, node)
        lists.push(0, rng.randrange(100), node)
    assert len(lists._heaps[0]) <= 2 * 10 + SLACK + 1
