"""How deep a search looks once it has a plan, and rollouts that go no deeper.

The paper selects no node at or below the depth of the best plan's goal. The setting `prune` (ours) also leaves out
what cannot lead to a shorter plan.
"""

from collections.abc import Sequence

from oclgen.search.context import SearchContext, Trajectory
from oclgen.search.graph import SearchGraph
from oclgen.search.settings import OclgenSettings


def horizon(graph: SearchGraph, settings: OclgenSettings) -> int | None:
    """Nodes at this depth or deeper are not selected: the best plan's length, or one less with `prune`."""
    return None if graph.best_length is None else graph.best_length - settings.prune


def sample_rollouts(
    graph: SearchGraph,
    context: SearchContext,
    settings: OclgenSettings,
    nodes: Sequence[int],
    max_tokens: int | None,
) -> list[Trajectory]:
    """Rollouts from each node; with `prune`, cut where they can no longer become a shorter plan."""
    states = [graph.state(node) for node in nodes]
    if not settings.prune or graph.best_length is None:
        batches = context.sample(states, settings.samples, max_tokens)
        return [rollout for batch in batches for rollout in batch]
    limits = [graph.best_length - 1 - graph.g(node) for node in nodes]
    batches = context.sample(states, settings.samples, max_tokens, max(limits))
    return [rollout.cut(limit) for limit, batch in zip(limits, batches, strict=True) for rollout in batch]
