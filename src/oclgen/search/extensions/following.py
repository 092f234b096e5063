"""Rollouts that are followed at once from where they ended, while a shorter plan is in sight (ours).

A truncated rollout covers a few dozen of the hundreds of depths of a long plan. The depth where a promising one ended
is selected once in hundreds of iterations, and a shorter plan takes a row of such selections.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from oclgen.search.context import SearchContext, Trajectory
from oclgen.search.extensions.chaining import add_batch
from oclgen.search.graph import ROOT, SearchGraph
from oclgen.search.settings import OclgenSettings


def follow(
    graph: SearchGraph, context: SearchContext, settings: OclgenSettings, rollouts: Sequence[Trajectory]
) -> Iterator[None]:
    """Once there is a plan: batches of rollouts, each from the most promising last state of those before, as long as it
    promises a shorter plan; yields after each batch."""
    if not settings.follow:
        return
    ends = {graph.node(rollout.states[-1]) for rollout in rollouts}
    while (node := most_promising(graph, ends)) is not None and not context.budget.exhausted():
        graph.close(node)
        ends = add_batch(graph, context, settings, node)
        yield


def most_promising(graph: SearchGraph, nodes: Iterable[int]) -> int | None:
    """The open node with the least f = g + h, if that is less than the length of the best plan."""
    if graph.best_length is None:
        return None
    f, node = min(((graph.g(node) + graph.h(node), node) for node in nodes if graph.is_open(node)), default=(inf, ROOT))
    return node if f < graph.best_length else None
