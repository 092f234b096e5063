"""Monte Carlo tree search with the policy's rollouts: the paper's strongest learned baseline.

A simulation descends the tree by PUCT, adds one node, samples a batch of rollouts from it and backs up two means: the
success rate of the rollouts and the length of the plans. The length of a failed rollout is its steps plus the heuristic
of its last state. Children are added one by one, likeliest first, as visits grow (progressive widening). A subtree with
nothing left to try is closed, so a small tree is searched completely.

Paper: Appendix "Baselines" (Monte Carlo Tree Search); PUCT as in Silver et al. 2016, widening after Coulom 2007.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

from oclgen.errors import InputError
from oclgen.interfaces import Action, Heuristic, Policy, State, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import SearchContext, Trajectory
from oclgen.search.extensions.chained_rollouts import chained_rollouts
from oclgen.search.incumbent import SampledIncumbent
from oclgen.search.settings import RolloutHelps, check_least


@dataclass(frozen=True, slots=True)
class MctsSettings(RolloutHelps):
    """Settings of Monte Carlo tree search."""

    max_tokens: int | None = None
    """Length limit of a rollout; None is the paper's full rollout, 50 its partial one."""
    samples: int = 10
    """Rollouts sampled per simulation."""
    alpha: float = 0.1
    """Weight of the success rate; plan length has the rest, 1 - alpha."""
    c_puct: float = 1.0
    """Weight of exploration."""
    widening_factor: float = 1.0
    widening_exponent: float = 0.25
    """A node visited N times has at most ceil(factor * N ** exponent) children; the paper names no constants."""
    pass_through: bool = False
    """A child goes on through forced states to the next choice (ours)."""

    def __post_init__(self) -> None:
        check_least("samples", self.samples, 1)
        check_least("links", self.links, 1)
        if self.max_tokens is not None:
            check_least("max_tokens", self.max_tokens, 1)
        if not 0.0 <= self.alpha <= 1.0:
            raise InputError(f"alpha must lie between 0 and 1, not {self.alpha}")
        if self.c_puct < 0 or self.widening_factor <= 0 or self.widening_exponent < 0:
            raise InputError("c_puct and widening_exponent must not be negative, widening_factor must be above 0")


@dataclass(slots=True, eq=False)
class TreeNode:
    """A state reached by one path, with the statistics of the transition into it."""

    state: State
    arrival: Trajectory | None = None  # from the parent; the root has none
    prior: float = 1.0
    visits: int = 0
    successes: float = 0.0  # sum over visits
    lengths: float = 0.0  # sum over visits
    closed: bool = False
    children: list["TreeNode"] = field(default_factory=list)
    untried: list[tuple[float, Action]] | None = None  # with priors, likeliest last; None before the node is expanded

    depth: int = 0  # actions from the root

    def open_children(self) -> list["TreeNode"]:
        return [child for child in self.children if not child.closed]


def mcts_search(
    task: Task,
    policy: Policy,
    heuristic: Heuristic,
    settings: MctsSettings,
    budget: Budget,
    rng: random.Random,
    counters: Counters,
) -> Search:
    """One simulation per iteration. A goal in the tree or on a rollout gives a plan."""
    context = SearchContext(task, policy, heuristic, budget, rng, counters)
    if task.is_goal(task.initial_state):
        yield ()
        return Ending.EXHAUSTED
    root = TreeNode(task.initial_state)
    incumbent = SampledIncumbent(context, settings)
    while not budget.exhausted(counters.iterations):
        if root.closed:
            return Ending.EXHAUSTED
        path = descend(root, context, settings, incumbent.limit)
        rollouts = simulate(path, context, settings, incumbent.limit)
        close_finished(path)
        counters.iterations += 1
        yield from incumbent.improvements(trajectory_of(path), rollouts)
        incumbent.change_decoding(rollouts)
    assert budget.ending is not None
    return budget.ending


def descend(root: TreeNode, context: SearchContext, settings: MctsSettings, limit: int | None) -> list[TreeNode]:
    """The path from the root to a node not visited before, to a dead end, or to a node as deep as `limit`.

    No path through such a node is a shorter plan.
    """
    path = [root]
    while path[-1].visits and (limit is None or path[-1].depth < limit):
        node = path[-1]
        children = node.open_children()
        child = None
        if not children or len(node.children) < allowed_children(node, settings):
            child = add_child(path, context, settings)
        if child is None and children:
            child = select_child(node, children, settings)
        if child is None:
            break
        path.append(child)
    return path


def add_child(path: Sequence[TreeNode], context: SearchContext, settings: MctsSettings) -> TreeNode | None:
    """Add the likeliest missing child to the last node of a path; states already on the path are left out."""
    node = path[-1]
    if node.untried is None:
        actions = context.task.applicable(node.state)
        node.untried = sorted(zip(context.priors(node.state, actions), actions, strict=True))
        context.counters.expanded += 1
    seen = {ancestor.state for ancestor in path}
    while node.untried:
        prior, action = node.untried.pop()
        arrival = context.follow(node.state, action, settings.pass_through)
        context.counters.generated += 1
        if arrival.states[-1] not in seen:
            child = TreeNode(arrival.states[-1], arrival, prior, depth=node.depth + len(arrival.steps))
            node.children.append(child)
            return child
    return None


def allowed_children(node: TreeNode, settings: MctsSettings) -> int:
    """Progressive widening: how many children a node may have after its visits."""
    widened: float = node.visits**settings.widening_exponent
    return ceil(settings.widening_factor * widened)


def select_child(node: TreeNode, children: Sequence[TreeNode], settings: MctsSettings) -> TreeNode:
    """PUCT: argmax of alpha Q_sat + (1 - alpha) Q_opt + c P(s, a) sqrt(sum_b N(s, b)) / (1 + N(s, a))."""
    lengths = [child.lengths / child.visits for child in node.children]
    shortest, longest = min(lengths), max(lengths)
    root_of_visits = sqrt(sum(child.visits for child in node.children))

    def score(child: TreeNode) -> float:
        q_sat = child.successes / child.visits
        q_opt = normalised(child.lengths / child.visits, shortest, longest)
        exploration = settings.c_puct * child.prior * root_of_visits / (1 + child.visits)
        return settings.alpha * q_sat + (1 - settings.alpha) * q_opt + exploration

    return max(children, key=score)


def normalised(length: float, shortest: float, longest: float) -> float:
    """1 for the shortest expected plan among the siblings, 0 for the longest."""
    return 0.5 if longest == shortest else (longest - length) / (longest - shortest)


def simulate(
    path: Sequence[TreeNode], context: SearchContext, settings: MctsSettings, limit: int | None
) -> list[Trajectory]:
    """Evaluate the last node of a path by rollouts and back up the outcome; returns the rollouts."""
    leaf = path[-1]
    too_deep = limit is not None and leaf.depth >= limit
    if leaf.visits or too_deep or context.task.is_goal(leaf.state):  # nothing is left to try below
        leaf.closed = True
    if leaf.visits:
        return []
    left = None if limit is None else max(0, limit - leaf.depth)
    rollouts = chained_rollouts(context, leaf.state, settings.samples, settings.links, settings.max_tokens, left)
    values = context.estimate(rollout.states[-1] for rollout in rollouts)
    lengths = [leaf.depth + len(rollout.steps) + values.get(rollout.states[-1], 0.0) for rollout in rollouts]
    successes = sum(rollout.reaches_goal for rollout in rollouts)
    back_up_outcome(path, successes / len(rollouts), sum(lengths) / len(rollouts))
    return rollouts


def trajectory_of(path: Sequence[TreeNode]) -> Trajectory:
    """From the root to the last node of a path."""
    whole = Trajectory((path[0].state,), (), reaches_goal=False)
    for node in path:
        whole = whole if node.arrival is None else whole.then(node.arrival)
    return whole


def back_up_outcome(path: Sequence[TreeNode], success: float, length: float) -> None:
    """Add the mean outcome of one simulation to every node of its path."""
    for node in path:
        node.visits += 1
        node.successes += success
        node.lengths += length


def close_finished(path: Sequence[TreeNode]) -> None:
    """Close, from the leaf up, the nodes below which every path without a loop has been tried."""
    for node in reversed(path):
        if not node.closed and (node.untried is None or node.untried or node.open_children()):
            return
        node.closed = True
