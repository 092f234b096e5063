"""The settings of every search method: frozen, checked on creation, the paper's values as defaults.

Each ablation of the paper and each extension of ours is a value of one of these fields. `PROFILES` names the
two sets that are compared: `paper` is the paper's algorithm, `extended` turns our extensions on.

Paper: Appendix "Test-time Inference Hyperparameters" (Table tab:test_time_hyperparameters), Appendix "Baselines".
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from oclgen.errors import InputError

DepthSelection = Literal["uniform", "scan", "none"]
InitialRollouts = Literal["full", "chained"]
Priority = Literal["astar", "gbfs"]

PROFILES: dict[str, dict[str, Any]] = {
    "paper": {},
    "extended": {"initial_rollouts": "chained", "prune": True, "shortcut": True, "eliminate": True},
}


@dataclass(frozen=True, slots=True)
class OclgenSettings:
    """Settings of OCLGen; those per domain in the paper default to Blocksworld's."""

    depth_selection: DepthSelection = "uniform"
    """How a depth level is chosen; `none` is the ablation: one open list ordered by f = g + h."""
    adaptive_expansion: bool = True
    """Expand the nodes where the policy is unsure; without it rollouts alone grow the graph (ablation)."""
    n_init: int = 3
    """Batches of full rollouts from the start before the main loop."""
    samples: int = 10
    """Rollouts sampled per selected node."""
    max_tokens: int = 50
    """Length limit of a truncated rollout."""
    confidence: float = 0.95
    """An action whose least likely token is below this marks its node for expansion."""
    policy_expansion_threshold: int = 10_000_000
    """With more ground actions than this, successors are sampled from the policy instead of enumerated."""
    policy_expansion_samples: int = 32
    """Actions sampled per expansion beyond that threshold."""

    initial_rollouts: InitialRollouts = "full"
    """`chained`: go on from the ends of the batches before, with the state encoded afresh (ours)."""
    prune: bool = False
    """Spend nothing on nodes that cannot lead to a plan shorter than the best one (ours)."""
    nodes_per_iteration: int = 1
    """Nodes selected per iteration and given to the models as one batch (ours if above 1)."""
    shortcut: bool = False
    """After an improvement look for unseen transitions from the best plan's states to known ones (ours)."""
    eliminate: bool = False
    """After an improvement leave out the actions that the best plan can do without (ours)."""
    pass_through: bool = False
    """States that leave no choice are closed at once (a shorter way to one may reopen it), and an expansion goes on to
    where there is one (ours)."""

    def __post_init__(self) -> None:
        check_choice("depth_selection", self.depth_selection, get_args(DepthSelection))
        check_choice("initial_rollouts", self.initial_rollouts, get_args(InitialRollouts))
        check_least("n_init", self.n_init, 0)
        check_least("samples", self.samples, 1)
        check_least("max_tokens", self.max_tokens, 1)
        check_least("policy_expansion_threshold", self.policy_expansion_threshold, 0)
        check_least("policy_expansion_samples", self.policy_expansion_samples, 1)
        check_least("nodes_per_iteration", self.nodes_per_iteration, 1)
        if not 0.0 <= self.confidence <= 1.0:
            raise InputError(f"confidence must lie between 0 and 1, not {self.confidence}")


@dataclass(frozen=True, slots=True)
class MctsSettings:
    """Settings of Monte Carlo tree search."""

    max_tokens: int | None = None
    """Length limit of a rollout; None is the paper's full rollout, 50 its partial one."""
    samples: int = 10
    """Rollouts sampled per simulation."""
    links: int = 1
    """Rollouts that make up one, as for Best-of-N (more than 1 is ours)."""
    alpha: float = 0.1
    """Weight of the chance of success against plan length."""
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
            raise InputError("c_puct and the widening constants must not be negative")


@dataclass(frozen=True, slots=True)
class BestFirstSettings:
    """Settings of anytime best-first search."""

    priority: Priority = "astar"
    """`astar` orders by f = g + h, `gbfs` by h."""
    pass_through: bool = False
    """As for OCLGen (ours)."""

    def __post_init__(self) -> None:
        check_choice("priority", self.priority, get_args(Priority))


@dataclass(frozen=True, slots=True)
class BestOfNSettings:
    """Settings of Best-of-N sampling."""

    samples: int = 10
    """Plans sampled per batch; batches go on until the budget ends."""
    links: int = 1
    """Rollouts that make up one plan: each next one starts, with the state encoded afresh, where the last ended. More
    than the paper's 1 suits a policy whose rollouts are shorter than plans (ours)."""

    def __post_init__(self) -> None:
        check_least("samples", self.samples, 1)
        check_least("links", self.links, 1)


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def check_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise InputError(f"{name} must be at least {least}, not {value}")
