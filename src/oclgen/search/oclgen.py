"""OCLGen: anytime open/closed-list search that grows its graph by rollouts of a generative model.

The functions are the steps of the paper's Algorithm 1 and have its names. Each iteration selects a depth, then the
most promising open node at that depth, samples truncated rollouts from it, expands the states on them where the policy
was unsure, gives every new state a heuristic value and adds it to the graph. Each shorter plan is reported at once.
`graph.py` holds the open and closed lists, `settings.py` explains the settings.

Paper: Section 4, Algorithm 1.
"""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from oclgen.interfaces import Heuristic, Plan, Policy, State, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import SearchContext, Trajectory, Workers
from oclgen.search.extensions.chaining import chain, retry_chaining
from oclgen.search.extensions.exchange import Exchange
from oclgen.search.extensions.following import follow
from oclgen.search.extensions.pruning import horizon, sample_rollouts
from oclgen.search.extensions.shared_states import StateSharing
from oclgen.search.graph import ROOT, Order, SearchGraph
from oclgen.search.incumbent import Incumbent
from oclgen.search.settings import OclgenSettings
from oclgen.search.trajectories import Expansion, add, add_plan, back_up_all, evaluate


class Growth(NamedTuple):
    """Rollouts and expansions that go out from nodes, and the heuristic's values of their states."""

    rollouts: list[Trajectory]
    expansions: list[Expansion]
    estimates: dict[State, float]


def oclgen_search(
    task: Task,
    policy: Policy,
    heuristic: Heuristic,
    settings: OclgenSettings,
    budget: Budget,
    rng: random.Random,
    counters: Counters,
    observer: Callable[[SearchGraph], None] | None = None,
    start: Plan = (),
    workers: Workers | None = None,
    exchange: Exchange | None = None,
) -> Search:
    """Algorithm 1. Yields each shorter plan; ends with the budget, or when no shorter plan can exist.

    `observer` gets the graph when it holds the initial state only; it may read the graph once the search has ended.
    `start` is a known plan: its states are in the graph before the first rollout (ours). `workers` let the nodes of an
    iteration grow at the same time (ours). `exchange` shares plans, and states if the settings say so, with
    other searches of the same task (ours).
    """
    context = SearchContext(task, policy, heuristic, budget, rng, counters, workers)
    order: Order = "f" if settings.depth_selection == "none" else "depth"
    graph = SearchGraph(task.initial_state, task.is_goal, counters, order)
    if observer is not None:
        observer(graph)
    if graph.is_goal(ROOT):
        yield ()
        return Ending.EXHAUSTED
    for h in context.estimate([task.initial_state]).values():
        graph.revalue(ROOT, h, evaluated=True)
    incumbent = Incumbent(graph, context, settings, exchange)
    sharing = StateSharing(graph, task, exchange) if exchange is not None and settings.share_states else None
    add_plan(graph, task, start)
    yield from incumbent.improvements()
    for _ in initial_rollouts(graph, context, settings):
        yield from incumbent.improvements()
    depth = -1
    while not budget.exhausted(counters.iterations):
        depth, nodes = select_nodes(graph, settings, rng, depth)
        if not nodes:
            if graph.revive():
                continue
            return Ending.EXHAUSTED
        rollouts, expansions, estimates = grow(graph, context, settings, nodes)
        values = back_up_all(graph, estimates, expansions, rollouts)
        add(graph, context, settings, expansions, rollouts, values)
        counters.iterations += 1
        if sharing is not None:
            sharing.after_iteration()
        yield from incumbent.improvements()
        for _ in further_batches(graph, context, settings, rollouts):
            yield from incumbent.improvements()
    yield from incumbent.improvements()  # other searches may have posted plans during the last iteration
    assert budget.ending is not None
    return budget.ending


def initial_rollouts(graph: SearchGraph, context: SearchContext, settings: OclgenSettings) -> Iterator[None]:
    """N_init batches of full rollouts from the initial state, or N_init chains of batches; yields after each batch."""
    batches = None if settings.initial_rollouts == "chained" else 1
    for _ in range(settings.n_init):
        yield from islice(chain(graph, context, settings), batches)


def further_batches(
    graph: SearchGraph, context: SearchContext, settings: OclgenSettings, rollouts: Sequence[Trajectory]
) -> Iterator[None]:
    """Batches beside Algorithm 1's (ours): rollouts are followed once there is a plan, chained until then."""
    yield from follow(graph, context, settings, rollouts)
    yield from retry_chaining(graph, context, settings)


def select_nodes(graph: SearchGraph, settings: OclgenSettings, rng: random.Random, depth: int) -> tuple[int, list[int]]:
    """Select a depth and then a node of that depth, once for each node of an iteration.

    `depth` is the depth selected last. Returns the new one and the nodes, now closed; no nodes if none can be selected.
    """
    nodes: list[int] = []
    while len(nodes) < settings.nodes_per_iteration:
        selected = select_depth(graph, settings, rng, depth)
        node = None if selected is None else select_node(graph, settings, selected)
        if selected is None or node is None:
            break
        nodes.append(node)
        depth = selected
    return depth, nodes


def select_depth(graph: SearchGraph, settings: OclgenSettings, rng: random.Random, previous: int) -> int | None:
    """A depth less than d_max with an open node: a random one (uniform) or the next after `previous`, cyclic (scan).

    Before the first plan d_max is the deepest level, which is selected only when all others are empty.
    """
    depths = graph.open_depths
    limit = horizon(graph, settings)
    choices = bisect_left(depths, graph.deepest if limit is None else limit)
    if not choices and limit is None:
        choices = len(depths)
    if not choices:
        return None
    if settings.depth_selection == "uniform":
        return depths[rng.randrange(choices)]
    return depths[bisect_right(depths, previous, hi=choices) % choices]


def select_node(graph: SearchGraph, settings: OclgenSettings, depth: int) -> int | None:
    """Extract the node with the least h from the open list of a depth (with the least f if there is only one list)."""
    return graph.extract(depth, horizon(graph, settings))


def grow(graph: SearchGraph, context: SearchContext, settings: OclgenSettings, nodes: Sequence[int]) -> Growth:
    """Partial rollouts, adaptive expansion and evaluation, for each selected node on its own."""
    growths = context.for_each(nodes, lambda own, node: grow_node(graph, own, settings, node))
    rollouts = [rollout for growth in growths for rollout in growth.rollouts]
    expansions = [expansion for growth in growths for expansion in growth.expansions]
    return Growth(rollouts, expansions, {state: h for growth in growths for state, h in growth.estimates.items()})


def grow_node(graph: SearchGraph, context: SearchContext, settings: OclgenSettings, node: int) -> Growth:
    """What one node brings. Reads the graph only, so that nodes of one iteration can grow side by side."""
    rollouts = partial_rollout(graph, context, settings, [node])
    expansions = adaptive_expansion(graph, context, settings, [node], rollouts)
    return Growth(rollouts, expansions, evaluate(graph, context, expansions, rollouts))


def partial_rollout(
    graph: SearchGraph, context: SearchContext, settings: OclgenSettings, nodes: Sequence[int]
) -> list[Trajectory]:
    """Truncated rollouts from the selected nodes."""
    return sample_rollouts(graph, context, settings, nodes, settings.max_tokens)


def adaptive_expansion(
    graph: SearchGraph,
    context: SearchContext,
    settings: OclgenSettings,
    nodes: Sequence[int],
    rollouts: Sequence[Trajectory],
) -> list[Expansion]:
    """Expand the states on the rollouts where the policy took an action with low confidence, each once.

    Revived nodes are expanded whatever the confidence: sampling from them was not enough. So a finite state space is
    searched completely.
    """
    if not settings.adaptive_expansion:
        return []
    revived = {graph.state(node) for node in nodes if graph.is_revived(node)}
    unsure = [graph.state(node) for node in nodes if graph.is_revived(node)]
    for rollout in rollouts:
        taken = zip(rollout.states, rollout.steps, strict=False)
        unsure += [state for state, step in taken if step.confidence < settings.confidence]
    states = [state for state in dict.fromkeys(unsure) if not graph.has_expanded(state)]
    whole = [state for state in states if enumerates(context.task, settings, state, state in revived)]
    if not samples_expansions(graph, context.task, settings):
        return enumerated_expansions(context, settings, whole)
    sampled = [state for state in states if state not in set(whole) and not graph.has_sampled(state)]
    return enumerated_expansions(context, settings, whole) + sampled_expansions(context, settings, sampled)


def enumerates(task: Task, settings: OclgenSettings, state: State, revived: bool) -> bool:
    """Whether to expand a state by all its actions, instead of some that the policy samples."""
    if not settings.enumerates(task):
        return False
    return revived or settings.most_children is None or len(task.applicable(state)) <= settings.most_children


def samples_expansions(graph: SearchGraph, task: Task, settings: OclgenSettings) -> bool:
    """Whether to expand the other states by sampled actions: beyond the paper's threshold always, else until there is a
    plan (ours). Then rollouts from them bring as much, for fewer evaluations."""
    return graph.best_length is None or not settings.enumerates(task)


def enumerated_expansions(context: SearchContext, settings: OclgenSettings, states: Sequence[State]) -> list[Expansion]:
    """All applicable actions of each state, for as many states as the budget allows."""
    expansions = []
    for state in states:
        if context.budget.exhausted():
            break
        expansions.append(Expansion(state, context.outgoing(state, settings.pass_through), complete=True))
    return expansions


def sampled_expansions(context: SearchContext, settings: OclgenSettings, states: Sequence[State]) -> list[Expansion]:
    """Actions sampled from the policy, where there are too many to enumerate."""
    batches = context.sample(states, settings.policy_expansion_samples, max_actions=1) if states else []
    return [
        Expansion(
            state, list({rollout.actions: rollout for rollout in batch if rollout.steps}.values()), complete=False
        )
        for state, batch in zip(states, batches, strict=True)
    ]
