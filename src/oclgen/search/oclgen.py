"""OCLGen: anytime open/closed-list search whose expansions are rollouts of a generative model.

The functions are the steps of the paper's Algorithm 1 and bear its names; `graph.py` keeps the books and
`settings.py` says what each setting means. Each iteration picks a depth, then the most promising open node of that
depth, samples truncated rollouts from it, expands the nodes on them where the policy was unsure, gives every new
state a value and puts it all into the graph. Plans are reported as soon as they improve.

Paper: Section 4, Algorithm 1.
"""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import inf

from oclgen.interfaces import Heuristic, Policy, State, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import Models, Trajectory
from oclgen.search.graph import ROOT, Order, SearchGraph
from oclgen.search.incumbent import improvements
from oclgen.search.settings import OclgenSettings
from oclgen.search.trajectories import UNKNOWN, Estimate, Estimates, add_course, back_up, close_forced, evaluated_h

CHAIN_PATIENCE, LATER_CHAIN_PATIENCE = 30, 5
"""A chain of rollouts gives up after so many stretches that come no nearer to the goal; sooner once there is a plan."""
RESTART = 4
"""Of stretches that come no nearer, each so-manieth begins at the start again."""
CHAIN_AGAIN = 20
"""Iterations after which, for want of a plan, another chain is tried."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """Ways out of one state, a step each or as many as leave no choice; `complete`: these are all there are."""

    state: State
    ways: Sequence[Trajectory]
    complete: bool


def oclgen_search(
    task: Task,
    policy: Policy,
    heuristic: Heuristic,
    settings: OclgenSettings,
    budget: Budget,
    rng: random.Random,
    counters: Counters,
    observer: Callable[[SearchGraph], None] | None = None,
) -> Search:
    """Algorithm 1: yields each shorter plan; ends with the budget, or when nothing better can exist.

    `observer` is given the graph before anything is in it but the start, to look at when the search has ended.
    """
    models = Models(task, policy, heuristic, budget, rng, counters)
    order: Order = "f" if settings.depth_selection == "none" else "depth"
    graph = SearchGraph(task.initial_state, task.is_goal, counters, order)
    if observer is not None:
        observer(graph)
    if graph.is_goal(ROOT):
        yield ()
        return Ending.EXHAUSTED
    for h in models.estimate([task.initial_state]).values():
        graph.revalue(ROOT, h, evaluated=True)
    length: int | None = None
    for _ in initial_rollouts(graph, models, settings):
        length = yield from improvements(graph, models, settings, length)
    depth = -1
    while not budget.exhausted(counters.iterations):
        depth, nodes = select(graph, settings, rng, depth)
        if not nodes:
            if graph.revive():
                continue
            return Ending.EXHAUSTED
        rollouts = partial_rollout(graph, models, settings, nodes)
        expansions = adaptive_expansion(graph, models, settings, nodes, rollouts)
        estimates = assign_heuristics(graph, models, expansions, rollouts)
        add(graph, expansions, rollouts, estimates)
        pass_through(graph, models, settings, expansions, rollouts)
        counters.iterations += 1
        length = yield from improvements(graph, models, settings, length)
        for _ in further_chain(graph, models, settings):
            length = yield from improvements(graph, models, settings, length)
    assert budget.ending is not None
    return budget.ending


def initial_rollouts(graph: SearchGraph, models: Models, settings: OclgenSettings) -> Iterator[None]:
    """N_init batches of rollouts without a token limit from the start; hands over after each for a report."""
    for _ in range(settings.n_init):
        for _ in chain(graph, models, settings):
            yield
            if settings.initial_rollouts == "full":
                break


def further_chain(graph: SearchGraph, models: Models, settings: OclgenSettings) -> Iterator[None]:
    """Where chains are on, one more now and then as long as there is no plan: where the first ones got stuck another
    one often does not."""
    due = graph.best_length is None and models.counters.iterations % CHAIN_AGAIN == 0
    if due and settings.initial_rollouts == "chained" and not models.budget.exhausted(models.counters.iterations):
        yield from chain(graph, models, settings)


def chain(graph: SearchGraph, models: Models, settings: OclgenSettings) -> Iterator[None]:
    """Batches of rollouts, the first from the start, each next one from an end of those before: in turns the most
    promising of all ends and that of the newest, since a heuristic may be wrong about where it is best to go on; and
    now and then the start again, where it leads no nearer.

    A policy that loses track of the state far from its prompt gets a fresh prompt that way. The chain ends at a goal,
    when no end is left, when it comes no nearer to the goal for a while, or with the budget.
    """
    start = graph.h(ROOT), ROOT
    ends, seen = [start], {ROOT}
    nearest, stretches = inf, 0
    for newest in cycle((True, False)):
        if models.budget.exhausted():
            return
        best = horizon(graph, settings)
        ends = [(h, end) for h, end in ends if best is None or graph.g(end) < best]
        if not ends or stretches >= (CHAIN_PATIENCE if graph.best_length is None else LATER_CHAIN_PATIENCE):
            return
        restart = stretches % RESTART == RESTART - 1
        h, node = start if restart else ends.pop(-1 if newest else ends.index(min(ends)))
        stretches = 0 if h < nearest else stretches + 1
        nearest = min(nearest, h)
        rollouts = sample(graph, models, settings, [node], max_tokens=None)
        add(graph, [], rollouts, assign_heuristics(graph, models, [], rollouts))
        pass_through(graph, models, settings, [], rollouts)
        yield
        reached = {graph.node(rollout.states[-1]) for rollout in rollouts} - seen
        if any(graph.is_goal(end) for end in reached):
            return
        seen |= reached
        ends += sorted(((graph.h(end), end) for end in reached), reverse=True)


def select(graph: SearchGraph, settings: OclgenSettings, rng: random.Random, previous: int) -> tuple[int, list[int]]:
    """The nodes of one iteration, now closed, and the depth chosen last; no nodes where nothing is open."""
    nodes: list[int] = []
    while len(nodes) < settings.nodes_per_iteration:
        depth = select_depth(graph, settings, rng, previous)
        node = None if depth is None else select_node(graph, settings, depth)
        if depth is None or node is None:
            break
        nodes.append(node)
        previous = depth
    return previous, nodes


def select_depth(graph: SearchGraph, settings: OclgenSettings, rng: random.Random, previous: int) -> int | None:
    """A depth below d_max with an open node: one at random (uniform) or the next after `previous`, round (scan).

    Before the first plan d_max is the deepest level, which is taken only when all others are empty.
    """
    depths = graph.open_depths
    best = horizon(graph, settings)
    choices = bisect_left(depths, graph.deepest if best is None else best)
    if not choices and best is None:
        choices = len(depths)
    if not choices:
        return None
    if settings.depth_selection == "uniform":
        return depths[rng.randrange(choices)]
    return depths[bisect_right(depths, previous, hi=choices) % choices]


def select_node(graph: SearchGraph, settings: OclgenSettings, depth: int) -> int | None:
    """Extract the node of least h from the open list of a depth (of least f where there is but one list)."""
    return graph.extract(depth, horizon(graph, settings))


def horizon(graph: SearchGraph, settings: OclgenSettings) -> int | None:
    """The depth from which on nodes are not selected: the best plan's length, or one less when pruning."""
    return None if graph.best_length is None else graph.best_length - settings.prune


def partial_rollout(
    graph: SearchGraph, models: Models, settings: OclgenSettings, nodes: Sequence[int]
) -> list[Trajectory]:
    """Truncated rollouts from the selected nodes."""
    return sample(graph, models, settings, nodes, settings.max_tokens)


def sample(
    graph: SearchGraph, models: Models, settings: OclgenSettings, nodes: Sequence[int], max_tokens: int | None
) -> list[Trajectory]:
    """Rollouts from nodes; when pruning, none goes on to where no better plan can be."""
    states = [graph.state(node) for node in nodes]
    if not settings.prune or graph.best_length is None:
        batches = models.sample(states, settings.samples, max_tokens)
        return [rollout for batch in batches for rollout in batch]
    rooms = [graph.best_length - 1 - graph.g(node) for node in nodes]
    batches = models.sample(states, settings.samples, max_tokens, max(rooms))
    return [rollout.cut(room) for room, batch in zip(rooms, batches, strict=True) for rollout in batch]


def adaptive_expansion(
    graph: SearchGraph,
    models: Models,
    settings: OclgenSettings,
    nodes: Sequence[int],
    rollouts: Sequence[Trajectory],
) -> list[Expansion]:
    """Expand the states on the rollouts that were left by an action of low confidence.

    Selected nodes that had been revived are expanded too, whatever the confidence: sampling from them was not enough,
    and so a finite space is searched to its end.
    """
    if not settings.adaptive_expansion:
        return []
    unsure = [graph.state(node) for node in nodes if graph.is_revived(node)]
    for rollout in rollouts:
        taken = zip(rollout.states, rollout.steps, strict=False)
        unsure += [state for state, step in taken if step.confidence < settings.confidence]
    states = [state for state in dict.fromkeys(unsure) if not graph.has_expanded(state)]
    if models.task.ground_action_bound > settings.policy_expansion_threshold:
        return sampled_expansions(models, settings, states)
    return enumerated_expansions(models, settings, states)


def enumerated_expansions(models: Models, settings: OclgenSettings, states: Sequence[State]) -> list[Expansion]:
    """All ways out of each state, for as many states as the budget allows."""
    expansions = []
    for state in states:
        if models.budget.exhausted():
            break
        expansions.append(Expansion(state, models.ways(state, settings.pass_through), complete=True))
    return expansions


def sampled_expansions(models: Models, settings: OclgenSettings, states: Sequence[State]) -> list[Expansion]:
    """The successors that the policy finds likely, where there are too many actions to enumerate."""
    batches = models.sample(states, settings.policy_expansion_samples, max_actions=1) if states else []
    return [
        Expansion(state, list({r.actions: r for r in batch if r.steps}.values()), complete=False)
        for state, batch in zip(states, batches, strict=True)
    ]


def assign_heuristics(
    graph: SearchGraph, models: Models, expansions: Sequence[Expansion], rollouts: Sequence[Trajectory]
) -> Estimates:
    """Ask the heuristic about expanded states, where the ways out of them lead and the rollouts' last states, all at
    once; the other states get values backed up from these."""
    ways = [way for expansion in expansions for way in expansion.ways]
    asked = [expansion.state for expansion in expansions]
    asked += [way.states[-1] for way in ways]
    asked += [rollout.states[-1] for rollout in rollouts]
    values = models.estimate(state for state in asked if evaluated_h(graph, state) is None)
    estimates = {state: Estimate(h, evaluated=True) for state, h in values.items()}
    for course in [*rollouts, *ways]:
        back_up(graph, course, estimates)
    return estimates


def add(
    graph: SearchGraph, expansions: Sequence[Expansion], rollouts: Sequence[Trajectory], estimates: Estimates
) -> None:
    """Put what an iteration found into the graph, and close what it expanded."""
    for rollout in rollouts:
        add_course(graph, rollout, estimates)
    for expansion in expansions:
        node = graph.node(expansion.state)
        graph.revalue(node, *estimates.get(expansion.state, UNKNOWN))
        for way in expansion.ways:
            add_course(graph, way, estimates)
        graph.close_expanded(node, expansion.complete)


def pass_through(
    graph: SearchGraph,
    models: Models,
    settings: OclgenSettings,
    expansions: Sequence[Expansion],
    rollouts: Sequence[Trajectory],
) -> None:
    """Close what leaves no choice, where actions are few enough to know."""
    if settings.pass_through and models.task.ground_action_bound <= settings.policy_expansion_threshold:
        for course in [*rollouts, *(way for expansion in expansions for way in expansion.ways)]:
            close_forced(graph, models.task, course)
