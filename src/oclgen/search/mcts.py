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
from math import ceil, inf, sqrt

from oclgen.errors import InputError
from oclgen.interfaces import Action, Heuristic, Plan, Policy, State, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import SearchContext
from oclgen.search.settings import Settings, check_least


@dataclass(frozen=True, slots=True)
class MctsSettings(Settings):
    """Settings of Monte Carlo tree search."""

    max_tokens: int | None = None
    """Length limit of a rollout; None is the paper's full rollout, 50 its partial one."""
    samples: int = 10
    """Rollouts sampled per simulation."""
    links: int = 1
    """Rollouts chained into one, each from the last state of the one before (more than 1 is ours)."""
    alpha: float = 0.1
    """Weight of the success rate; plan length has the rest, 1 - alpha."""
    c_puct: float = 1.0
    """Weight of exploration."""
    widening_factor: float = 1.0
    widening_exponent: float = 0.25
    """A node visited N times has at most ceil(factor * N ** exponent) children; the paper names no constants."""

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
    action: Action = ()
    prior: float = 1.0
    visits: int = 0
    successes: float = 0.0  # sum over visits
    lengths: float = 0.0  # sum over visits
    closed: bool = False
    children: list["TreeNode"] = field(default_factory=list)
    untried: list[tuple[float, Action]] | None = None  # with priors, likeliest last; None before the node is expanded

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
    length: float = inf
    while not budget.exhausted(counters.iterations):
        if root.closed:
            return Ending.EXHAUSTED
        path = descend(root, context, settings)
        plan = simulate(path, context, settings)
        close_finished(path)
        counters.iterations += 1
        if plan is not None and len(plan) < length:
            length = len(plan)
            yield plan
    assert budget.ending is not None
    return budget.ending


def descend(root: TreeNode, context: SearchContext, settings: MctsSettings) -> list[TreeNode]:
    """The path from the root to a node not visited before, or to a dead end."""
    path = [root]
    while path[-1].visits:
        node = path[-1]
        children = node.open_children()
        child = None
        if not children or len(node.children) < allowed_children(node, settings):
            child = add_child(path, context)
        if child is None and children:
            child = select_child(node, children, settings)
        if child is None:
            break
        path.append(child)
    return path


def add_child(path: Sequence[TreeNode], context: SearchContext) -> TreeNode | None:
    """Add the likeliest missing child to the last node of a path; states already on the path are left out."""
    node = path[-1]
    if node.untried is None:
        actions = context.task.applicable(node.state)
        node.untried = sorted(zip(context.priors(node.state, actions), actions, strict=True))
        context.counters.expanded += 1
    seen = {ancestor.state for ancestor in path}
    while node.untried:
        prior, action = node.untried.pop()
        state = context.task.apply(node.state, action)
        context.counters.generated += 1
        if state is not None and state not in seen:
            child = TreeNode(state, action, prior)
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


def simulate(path: Sequence[TreeNode], context: SearchContext, settings: MctsSettings) -> Plan | None:
    """Evaluate the last node of a path, back up the outcome, and return the shortest plan found."""
    leaf, depth = path[-1], len(path) - 1
    taken = tuple(node.action for node in path[1:])
    if leaf.visits:  # a dead end, about to be closed: nothing to sample
        return None
    if context.task.is_goal(leaf.state):
        leaf.closed = True
        back_up_outcome(path, 1.0, depth)
        return taken
    rollouts = context.chained_rollouts(leaf.state, settings.samples, settings.links, settings.max_tokens)
    values = context.estimate(rollout.states[-1] for rollout in rollouts)
    lengths = [depth + len(rollout.steps) + values.get(rollout.states[-1], 0.0) for rollout in rollouts]
    plans = [taken + rollout.actions for rollout in rollouts if rollout.reaches_goal]
    if rollouts:
        back_up_outcome(path, len(plans) / len(rollouts), sum(lengths) / len(rollouts))
    return min(plans, key=len, default=None)


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
