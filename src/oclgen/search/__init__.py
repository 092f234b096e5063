"""Anytime searches over the protocols of `oclgen.interfaces`, and the registry of the methods that use models.

Read `oclgen.py` first: it is the paper's Algorithm 1. A new method is one file, with its search and its settings, and
one line in `METHODS`.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from oclgen.search.anytime import Search
from oclgen.search.baselines.best_first import BestFirstSettings, best_first_search
from oclgen.search.baselines.best_of_n import BestOfNSettings, best_of_n_search
from oclgen.search.baselines.mcts import MctsSettings, mcts_search
from oclgen.search.oclgen import oclgen_search
from oclgen.search.settings import PROFILES, OclgenSettings, Settings


@dataclass(frozen=True, slots=True)
class Method:
    """A search method.

    Called as `search(task, policy, heuristic, settings, budget, rng, counters)`; a model that the method does not
    need may be None.
    """

    search: Callable[..., Search]
    settings: Settings
    """The paper's settings for this method (for OCLGen: those for Blocksworld)."""
    needs_policy: bool = True
    needs_heuristic: bool = True
    fixed: frozenset[str] = frozenset()
    """Settings that make the method what it is: neither a profile, nor a model, nor the user changes them."""

    def in_profile(self, profile: str) -> Settings:
        """The settings with those values of a profile that belong to the method."""
        known = {each.name for each in fields(self.settings)} - self.fixed
        return replace(self.settings, **{key: value for key, value in PROFILES[profile].items() if key in known})


METHODS: dict[str, Method] = {
    "oclgen": Method(oclgen_search, OclgenSettings()),
    "mcts": Method(mcts_search, MctsSettings(), fixed=frozenset({"max_tokens"})),
    "mcts-partial": Method(mcts_search, MctsSettings(max_tokens=50), fixed=frozenset({"links"})),
    "astar": Method(best_first_search, BestFirstSettings("astar"), needs_policy=False, fixed=frozenset({"priority"})),
    "gbfs": Method(best_first_search, BestFirstSettings("gbfs"), needs_policy=False, fixed=frozenset({"priority"})),
    "best-of-n": Method(best_of_n_search, BestOfNSettings(), needs_heuristic=False),
}
