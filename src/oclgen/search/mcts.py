"""Monte Carlo tree search with the policy's rollouts: the paper's strongest learned baseline.

A simulation walks down the tree by PUCT, adds one node, samples a batch of rollouts from it and backs up two means:
how many reached a goal, and how long the plans are (for a rollout that failed: its length so far plus the heuristic
of its last state). Children are opened one by one in order of their prior as visits grow (progressive widening). A
subtree in which nothing is left to try is closed, so that a small tree is searched to its end.

Paper: Appendix "Baselines" (Monte Carlo Tree Search); PUCT as in Silver et al. 2016, widening after Coulom 2007.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf, pow, sqrt

from oclgen.interfaces import Action, Heuristic, Plan, Policy, State, Task
from oclgen.search.anytime import Budget, Counters, Ending, Search
from oclgen.search.context import Models
from oclgen.search.settings import MctsSettings


@dataclass(slots=True, eq=False)
class TreeNode:
    """A state as reached by one path; statistics are those of the transition into it."""

    state: State
    action: Action = ()
    prior: float = 1.0
    visits: int = 0
    successes: float = 0.0  # sum over visits
    lengths: float = 0.0  # sum over visits
    closed: bool = False
    children: list["TreeNode"] = field(default_factory=list)
    untried: list[tuple[float, Action]] | None = None  # priors, likeliest last; None before the first look

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
    """One simulation per iteration; a goal found anywhere, in the tree or in a rollout, gives a plan."""
    models = Models(task, policy, heuristic, budget, rng, counters)
    if task.is_goal(task.initial_state):
        yield ()
        return Ending.EXHAUSTED
    root = TreeNode(task.initial_state)
    length: float = inf
    while not budget.exhausted(counters.iterations):
        if root.closed:
            return Ending.EXHAUSTED
        path = descend(root, models, settings)
        plan = simulate(path, models, settings)
        close_finished(path)
        counters.iterations += 1
        if plan is not None and len(plan) < length:
            length = len(plan)
            yield plan
    assert budget.ending is not None
    return budget.ending


def descend(root: TreeNode, models: Models, settings: MctsSettings) -> list[TreeNode]:
    """From the root to a node not visited before, or to one found to be a dead end."""
    path = [root]
    while path[-1].visits:
        node = path[-1]
        children = node.open_children()
        child = None
        if not children or len(node.children) < allowed_children(node, settings):
            child = open_child(path, models)
        if child is None and children:
            child = select_child(node, children, settings)
        if child is None:
            break
        path.append(child)
    return path


def open_child(path: Sequence[TreeNode], models: Models) -> TreeNode | None:
    """The likeliest child that the last node of a path does not have yet; none that would close a loop."""
    node = path[-1]
    if node.untried is None:
        actions = models.task.applicable(node.state)
        node.untried = sorted(zip(models.priors(node.state, actions), actions, strict=True))
        models.counters.expanded += 1
    seen = {ancestor.state for ancestor in path}
    while node.untried:
        prior, action = node.untried.pop()
        state = models.task.apply(node.state, action)
        models.counters.generated += 1
        if state is not None and state not in seen:
            child = TreeNode(state, action, prior)
            node.children.append(child)
            return child
    return None


def allowed_children(node: TreeNode, settings: MctsSettings) -> int:
    """Progressive widening: how many children a node may have after its visits so far."""
    return ceil(settings.widening_factor * pow(node.visits, settings.widening_exponent))


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


def simulate(path: Sequence[TreeNode], models: Models, settings: MctsSettings) -> Plan | None:
    """Value the last node of a path, back the value up, and return the shortest plan met on the way."""
    leaf, depth = path[-1], len(path) - 1
    taken = tuple(node.action for node in path[1:])
    if leaf.visits:  # a dead end: nothing to sample, and it is about to be closed
        return None
    if models.task.is_goal(leaf.state):
        leaf.closed = True
        back_up(path, 1.0, depth)
        return taken
    rollouts = models.chains(leaf.state, settings.samples, settings.links, settings.max_tokens)
    values = models.estimate(rollout.states[-1] for rollout in rollouts)
    lengths = [depth + len(rollout.steps) + values.get(rollout.states[-1], 0.0) for rollout in rollouts]
    plans = [taken + rollout.actions for rollout in rollouts if rollout.reaches_goal]
    if rollouts:
        back_up(path, len(plans) / len(rollouts), sum(lengths) / len(rollouts))
    return min(plans, key=len, default=None)


def back_up(path: Sequence[TreeNode], success: float, length: float) -> None:
    for node in path:
        node.visits += 1
        node.successes += success
        node.lengths += length


def close_finished(path: Sequence[TreeNode]) -> None:
    """Close, from the leaf up, the nodes below which every loop-free path has been tried."""
    for node in reversed(path):
        if not node.closed and (node.untried is None or node.untried or node.open_children()):
            return
        node.closed = True
