import random

import pytest

from oclgen.search.anytime import Counters
from oclgen.search.graph import ROOT, Order, SearchGraph
from tests.search.invariants import CheckedGraph
from tests.toy import DigraphTask, random_digraph

ORDERS: list[Order] = ["depth", "f", "h"]


def change_randomly(graph: CheckedGraph, task: DigraphTask, rng: random.Random) -> None:
    """One random operation of the kinds that searches use."""
    node = rng.randrange(len(graph))
    operation = rng.choice(["add", "add", "add", "expand", "extract", "extract", "revalue", "revive", "horizon"])
    if operation in ("add", "expand") and not graph.is_goal(node):
        actions = list(task.applicable(graph.state(node)))
        chosen = actions if operation == "expand" else rng.sample(actions, min(1, len(actions)))
        for action in chosen:
            state = task.apply(graph.state(node), action)
            graph.add(node, action, state, rng.randint(0, 9), rng.random() < 0.5)
        if operation == "expand":
            graph.close_expanded(node, complete=True)
    elif operation in ("extract", "horizon") and graph.open_depths:
        graph.extract(rng.choice(graph.open_depths), 3 if operation == "horizon" else None)
    elif operation == "revalue":
        graph.revalue(node, rng.randint(0, 9), rng.random() < 0.3)
    elif operation == "revive":
        graph.revive()


@pytest.mark.parametrize("order", ORDERS)
def test_the_graph_agrees_with_brute_force_after_every_operation(order: Order) -> None:
    for seed in range(150):
        rng = random.Random(seed)
        vertices = rng.randint(2, 14)
        task = random_digraph(rng, vertices, rng.randint(vertices, 3 * vertices), goals=2)
        graph = CheckedGraph(task.initial_state, task.is_goal, Counters(), order)
        for _ in range(40):
            change_randomly(graph, task, rng)


def chain_graph(length: int) -> tuple[SearchGraph, Counters]:
    """0 -> 1 -> ... -> length, no goal."""
    counters = Counters()
    graph = SearchGraph(0, lambda state: False, counters)
    for state in range(1, length + 1):
        graph.add(state - 1, ("go", str(state)), state, float(length - state), evaluated=True)
    return graph, counters


def test_a_shorter_path_lowers_g_of_all_descendants() -> None:
    graph, _ = chain_graph(6)
    graph.connect(ROOT, ("go", "4"), 4)
    assert [graph.g(node) for node in range(7)] == [0, 1, 2, 3, 1, 2, 3]
    assert graph.path(6) == [(0, ("go", "4")), (4, ("go", "5")), (5, ("go", "6"))]
    assert graph.deepest == 3


def test_an_open_node_moves_to_the_list_of_its_new_depth() -> None:
    graph, _ = chain_graph(4)
    graph.connect(ROOT, ("go", "3"), 3)
    assert sorted(graph.open_nodes()) == [(0, 0), (1, 1), (1, 3), (2, 2), (2, 4)]


def test_a_closed_node_reopens_when_its_g_decreases_and_only_then() -> None:
    graph, counters = chain_graph(4)
    for depth in (4, 3):
        graph.extract(depth)
    graph.connect(1, ("go", "2b"), 2)
    assert not graph.is_open(3)
    graph.connect(1, ("go", "3"), 3)
    assert graph.is_open(3)
    assert graph.is_open(4)
    assert counters.reopened == 2


def test_a_goal_is_never_open_even_when_a_shorter_path_to_it_is_found() -> None:
    graph = SearchGraph(0, lambda state: state == 2, Counters())
    graph.add(graph.add(0, ("a",), 1, 1.0, True), ("b",), 2, 5.0, True)
    assert graph.best_length == 2
    graph.connect(0, ("c",), 2)
    assert graph.get_best_plan() == (("c",),)
    assert not graph.is_open(2)
    assert graph.h(2) == 0


def test_a_depth_gives_its_node_of_least_h_first_and_the_older_one_on_a_tie() -> None:
    graph = SearchGraph("root", lambda state: False, Counters())
    for state, h in [("a", 3.0), ("b", 1.0), ("c", 2.0), ("d", 1.0)]:
        graph.add(ROOT, (state,), state, h, evaluated=True)
    order = [graph.extract(1) for _ in range(4)]
    assert [graph.state(node) for node in order if node is not None] == ["b", "d", "c", "a"]
    assert graph.extract(1) is None


def test_one_list_is_ordered_by_f_and_on_a_tie_by_h() -> None:
    graph = SearchGraph("root", lambda state: False, Counters(), "f")
    graph.extract(0)
    a = graph.add(ROOT, ("a",), "a", 4.0, evaluated=True)
    b = graph.add(a, ("b",), "b", 3.0, evaluated=True)
    c = graph.add(ROOT, ("c",), "c", 5.0, evaluated=True)
    assert [graph.extract(0) for _ in range(3)] == [b, a, c]


def test_extraction_skips_nodes_at_the_horizon() -> None:
    graph, _ = chain_graph(3)
    assert graph.extract(2, horizon=2) is None
    assert not graph.is_open(2)
    assert graph.extract(1, horizon=2) == 1


def test_the_heuristics_own_value_replaces_a_backed_up_one_and_backed_up_ones_only_decrease() -> None:
    graph = SearchGraph("root", lambda state: False, Counters())
    node = graph.add(ROOT, ("a",), "a", 5.0, evaluated=False)
    graph.revalue(node, 7.0, evaluated=False)
    assert graph.h(node) == 5.0
    graph.revalue(node, 4.0, evaluated=False)
    assert graph.h(node) == 4.0
    graph.revalue(node, 9.0, evaluated=True)
    assert graph.h(node) == 9.0
    graph.revalue(node, 1.0, evaluated=False)
    graph.revalue(node, 1.0, evaluated=True)
    assert graph.h(node) == 9.0


def test_a_new_value_changes_the_order_of_the_open_list() -> None:
    graph = SearchGraph("root", lambda state: False, Counters())
    a = graph.add(ROOT, ("a",), "a", 2.0, evaluated=False)
    b = graph.add(ROOT, ("b",), "b", 3.0, evaluated=False)
    graph.revalue(b, 1.0, evaluated=False)
    assert [graph.extract(1), graph.extract(1)] == [b, a]


def test_revive_opens_closed_nodes_that_are_not_expanded() -> None:
    graph, _ = chain_graph(3)
    graph.close_expanded(1, complete=True)
    graph.close_expanded(2, complete=False)
    graph.extract(0)
    assert graph.revive() == 2
    assert [graph.is_open(node) for node in range(4)] == [True, False, True, True]
    assert [graph.is_revived(node) for node in range(4)] == [True, False, True, False]


def test_a_revived_node_whose_actions_were_sampled_again_needs_no_more_samples() -> None:
    graph, _ = chain_graph(2)
    graph.close_expanded(1, complete=False)
    assert graph.has_sampled(graph.state(1))
    graph.extract(0)
    graph.revive()
    assert graph.is_revived(1) and not graph.has_sampled(graph.state(1))
    graph.close_expanded(1, complete=False)
    assert graph.has_sampled(graph.state(1)) and not graph.is_revived(1)


def test_revive_leaves_nodes_closed_that_are_too_deep_for_a_shorter_plan() -> None:
    graph = SearchGraph(0, lambda state: state == 3, Counters())
    for state in range(1, 4):
        graph.add(state - 1, ("go",), state, 0.0, evaluated=True)
    for depth in range(3):
        graph.extract(depth)
    assert graph.revive() == 2
    assert [graph.is_open(node) for node in range(4)] == [True, True, False, False]


def test_there_is_no_best_plan_before_a_goal_is_known() -> None:
    with pytest.raises(ValueError, match="no goal"):
        chain_graph(2)[0].get_best_plan()
