"""Chained batches of rollouts: each batch starts at the last state of an earlier rollout, encoded afresh (ours).

A policy loses track of the state far from its prompt; chaining gives it a fresh prompt.
"""

from collections import Counter
from collections.abc import Generator, Iterator
from itertools import cycle
from math import inf

from oclgen.search.context import SearchContext
from oclgen.search.extensions.pruning import horizon, sample_rollouts
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.settings import OclgenSettings
from oclgen.search.trajectories import add, assign_heuristics

PATIENCE, PATIENCE_WITH_PLAN = 30, 5
"""Chaining gives up after this many batches in a row that start no nearer to the goal, sooner once there is a plan. As
long as there is none, every fourth step to the goal adds one: a long plan has more states where the policy is weak."""
BATCHES_PER_STATE = 8
"""Batches that a state may start while they lead to nothing new: a policy may be right once in many samples."""
RESTART_INTERVAL = 4
"""Every fourth of such batches is a restart at the initial state."""
RETRY_INTERVAL = 20
"""Iterations between two chains of batches while there is no plan."""


def chained_batches(
    graph: SearchGraph, context: SearchContext, settings: OclgenSettings
) -> Generator[None, None, float]:
    """Add batches of rollouts to the graph, the first from the initial state; yield after each.

    The next batch starts, in turns, at the most promising of the newest last states and at the most promising of all:
    the heuristic may be wrong about the best place to continue. Chaining ends at a goal, when no last state is left,
    when patience runs out, or with the budget. It returns the least heuristic value of a state where a batch started.
    """
    initial = graph.h(ROOT), ROOT
    patience_without_plan = PATIENCE + int(graph.h(ROOT)) // 4
    batches: Counter[int] = Counter()
    ends, seen = [initial], {ROOT}
    nearest, without_progress = inf, 0
    for newest in cycle((True, False)):
        if context.budget.exhausted():
            return nearest
        limit = horizon(graph, settings)
        ends = [(h, end) for h, end in ends if limit is None or graph.g(end) < limit]
        patience = patience_without_plan if graph.best_length is None else PATIENCE_WITH_PLAN
        if not ends or without_progress >= patience:
            return nearest
        restart = without_progress % RESTART_INTERVAL == RESTART_INTERVAL - 1
        h, node = initial if restart else ends.pop(-1 if newest else ends.index(min(ends)))
        without_progress = 0 if h < nearest else without_progress + 1
        nearest = min(nearest, h)
        reached = add_batch(graph, context, settings, node) - seen
        yield
        if any(graph.is_goal(end) for end in reached):
            return 0.0
        seen |= reached
        batches[node] += 1
        if not reached and not restart and batches[node] < BATCHES_PER_STATE:
            ends.append((h, node))
        ends += sorted(((graph.h(end), end) for end in reached), reverse=True)
    return nearest


def chain(graph: SearchGraph, context: SearchContext, settings: OclgenSettings) -> Iterator[None]:
    """Chained batches; if they bring no plan and do not even come halfway to the goal, the next ones are restricted."""
    nearest = yield from chained_batches(graph, context, settings)
    if settings.restrict_lost and graph.best_length is None:
        context.decoding.after_failure(context.task, got_nowhere=nearest > graph.h(ROOT) / 2)


def add_batch(graph: SearchGraph, context: SearchContext, settings: OclgenSettings, node: int) -> set[int]:
    """Add one batch of rollouts from a node; the nodes of their last states.

    Free rollouts end where the policy is lost, so they have no token limit. Restricted ones would go on and on.
    """
    max_tokens = settings.max_tokens if context.decoding.restricted else None
    rollouts = sample_rollouts(graph, context, settings, [node], max_tokens)
    values = assign_heuristics(graph, context, [], rollouts)
    add(graph, context, settings, [], rollouts, values)
    return {graph.node(rollout.states[-1]) for rollout in rollouts}


def retry_chaining(graph: SearchGraph, context: SearchContext, settings: OclgenSettings) -> Iterator[None]:
    """Chain batches again at intervals while there is no plan: a new chain often succeeds where earlier ones failed."""
    if settings.initial_rollouts != "chained" or graph.best_length is not None:
        return
    iterations = context.counters.iterations
    if iterations % RETRY_INTERVAL == 0 and not context.budget.exhausted(iterations):
        yield from chain(graph, context, settings)
