"""The settings of OCLGen and what all settings share: frozen, checked on creation, the paper's values as defaults.

Each ablation of the paper and each of our extensions is a value of one field. `PROFILES` has the two sets that we
compare: `paper` is the paper's algorithms, `extended` turns our extensions on. An extension that is not particular to
OCLGen is on for every method that can use it, so that methods are compared fairly (`Helps`). The other methods have
their settings beside their search.

Paper: Appendix "Test-time Inference Hyperparameters" (Table tab:test_time_hyperparameters).
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from oclgen.errors import InputError
from oclgen.interfaces import Task

DepthSelection = Literal["uniform", "scan", "none"]
InitialRollouts = Literal["full", "chained"]

PROFILES: dict[str, dict[str, Any]] = {
    "paper": {},
    "extended": {
        "initial_rollouts": "chained",
        # A rollout ends with its window, because chains go on where it failed, too. Best-of-N and MCTS: enough for
        # plans of more than a thousand actions with the windows of small models.
        "whole_rollouts": False,
        "links": 50,
        # Far beyond the sizes of training, free rollouts may all begin with a mistake.
        "restrict_lost": True,
        "prune": True,
        "shortcut": True,
        "eliminate": True,
        # On a CPU asking the heuristic about every child costs more than it brings: expand only where the policy is
        # very unsure, and never dozens of children.
        "confidence": 0.05,
        "most_children": 16,
        # A plan of hundreds of steps gets shorter only by a row of rollouts, each where the last one ended.
        "follow": True,
        # The least percentiles of a small heuristic are noise on large problems; of a good one the median is the best
        # guess.
        "percentile": 50.0,
    },
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Base of the settings of every search method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Helps(Settings):
    """What helps every method and is in no method of the paper (ours)."""

    eliminate: bool = False
    """After each improvement, remove the actions that the plan does not need."""
    shortcut: bool = False
    """After each improvement, look for unseen transitions from the plan's states to known states. Methods without a
    search graph keep what they have seen in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutHelps(Helps):
    """What also helps the methods that judge a state by whole rollouts: Best-of-N and MCTS (ours)."""

    links: int = 1
    """Rollouts chained into one, each from the last state of the one before, encoded afresh. The paper uses 1; more
    suits a policy whose rollouts are shorter than plans."""
    restrict_lost: bool = False
    """While there is no plan, restrict decoding to applicable actions after rollouts without a single action."""
    prune: bool = False
    """Limit rollouts to what can give a plan shorter than the incumbent."""


@dataclass(frozen=True, slots=True)
class OclgenSettings(Helps):
    """Settings of OCLGen. Where the paper has a value per domain, the default is Blocksworld's."""

    depth_selection: DepthSelection = "uniform"
    """How a depth is selected. `none` (ablation): one open list ordered by f = g + h."""
    adaptive_expansion: bool = True
    """Expand the states where the policy is unsure. Without it only rollouts grow the graph (ablation)."""
    n_init: int = 3
    """Batches of full rollouts from the initial state before the main loop."""
    samples: int = 10
    """Rollouts sampled per selected node."""
    max_tokens: int = 50
    """Length limit of a truncated rollout."""
    confidence: float = 0.95
    """A state is expanded if an action was taken there whose least likely token has a lower probability than this."""
    policy_expansion_threshold: int = 10_000_000
    """With more ground actions than this, actions are sampled from the policy instead of enumerated."""
    policy_expansion_samples: int = 32
    """Actions sampled per expansion above that threshold."""

    most_children: int | None = None
    """States with more applicable actions than this are not enumerated either; None is no limit (ours). Actions are
    sampled there until there is a plan."""
    initial_rollouts: InitialRollouts = "full"
    """`chained`: each batch starts at the last state of an earlier rollout, encoded afresh (ours)."""
    restrict_lost: bool = False
    """After a chain of batches that did not even come halfway to the goal, restrict the next one to applicable actions,
    and go on with the kind that brought the first plan (ours)."""
    prune: bool = False
    """Leave out nodes that cannot lead to a plan shorter than the incumbent (ours)."""
    follow: bool = False
    """Once there is a plan, go on at once from the end of a rollout that promises a shorter one (ours)."""
    nodes_per_iteration: int = 1
    """Nodes selected per iteration, which grow independently of one another, on several threads at the same time (more
    than 1 is ours). 1 and 4 found plans of about the same length with as many nodes in all (docs/log.md)."""
    pass_through: bool = False
    """Close forced states at once, and let an expansion go on through them to the next choice (ours). A shorter path to
    a closed forced state still reopens it."""
    share_states: bool = True
    """Where several searches of a problem run at once: share promising states besides the best plan (ours)."""

    def __post_init__(self) -> None:
        check_choice("depth_selection", self.depth_selection, get_args(DepthSelection))
        check_choice("initial_rollouts", self.initial_rollouts, get_args(InitialRollouts))
        check_least("n_init", self.n_init, 0)
        check_least("samples", self.samples, 1)
        check_least("max_tokens", self.max_tokens, 1)
        check_least("policy_expansion_threshold", self.policy_expansion_threshold, 0)
        check_least("policy_expansion_samples", self.policy_expansion_samples, 1)
        if self.most_children is not None:
            check_least("most_children", self.most_children, 0)
        check_least("nodes_per_iteration", self.nodes_per_iteration, 1)
        if not 0.0 <= self.confidence <= 1.0:
            raise InputError(f"confidence must lie between 0 and 1, not {self.confidence}")

    def enumerates(self, task: Task) -> bool:
        """Whether a task has few enough ground actions to enumerate successors."""
        return task.ground_action_bound <= self.policy_expansion_threshold


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def check_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise InputError(f"{name} must be at least {least}, not {value}")
