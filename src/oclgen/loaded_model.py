"""A model that many solves share: its checkpoints are read once, when they are first needed.

    from oclgen import LoadedModel, solve
    model = LoadedModel("models/ferry")
    for problem in problems:
        solve(domain, problem, model=model)

A `LoadedModel` hides which checkpoints a model folder holds: callers ask it for a policy and a heuristic. What it
keeps is never written to after loading, so solves in several threads may share it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from oclgen.encoding.kinds import RELATIONAL
from oclgen.errors import InputError
from oclgen.interfaces import Heuristic, Policy
from oclgen.model_folders import encoding_kind, model_settings

if TYPE_CHECKING:
    from oclgen.checkpoint import Checkpoint
    from oclgen.inference.relational.encoded_states import RelationalModel

DECODINGS = ("free", "applicable", "viable")
DEVICES = ("cpu", "cpu-torch", "cuda")
STAMPED = ("solve.toml", "*/settings.json", "*/weights.safetensors")
"""The files of a model folder that show whether it has changed."""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """How a search uses its models."""

    percentile: float | None = 10.0
    """Summary of the cost-to-go distribution; None is the mode (the paper's ablation)."""
    decoding: str = "free"
    """`free` as in the paper, or (ours) `applicable`: only tokens that lead to an applicable action, or `viable`: to
    one that does not lead straight into a dead end."""
    temperature: float = 1.0
    whole_rollouts: bool = True
    """Rollouts of a policy that has learned windows of plans go on after their window, from their last state, encoded
    afresh, until a mistake, the end token or their own limit, as those of the paper's policies do."""
    device: str = "cpu"
    """`cpu` is the engine without torch; `cuda` and `cpu-torch` need the `learn` extra."""
    engine_threads: int = 1
    """Of the engine on `cpu`, for relational models; what is found does not depend on it."""

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise InputError(f"device must be one of {', '.join(DEVICES)}, not {self.device!r}")
        if self.decoding not in DECODINGS:
            raise InputError(f"decoding must be one of {', '.join(DECODINGS)}, not {self.decoding!r}")
        if self.engine_threads < 1:
            raise InputError(f"engine_threads must be at least 1, not {self.engine_threads}")


class CountingPolicy(Policy, Protocol):
    """A policy that counts the tokens it has processed."""

    tokens: int


class LoadedModel:
    """A model folder: `relational/`, or `policy/` and `heuristic/`, and perhaps `solve.toml`."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._kept: dict[tuple[str, str], Any] = {}

    @cached_property
    def solve_settings(self) -> dict[str, Any]:
        """The search settings that the model brings along."""
        return model_settings(self.folder)

    def policy(self, use: ModelUse) -> CountingPolicy:
        """A policy for one solve: its counters are its own, its weights are shared."""
        from oclgen.inference.checkpoint_policy import checkpoint_policy, relational_policy
        from oclgen.inference.devices import policy_engine

        how: dict[str, Any] = {
            "decoding": use.decoding,
            "temperature": use.temperature,
            "whole": use.whole_rollouts,
        }
        if self.is_relational:
            return relational_policy(self._relational(use), **how)
        checkpoint = self._checkpoint("policy")
        engine = self._keep("policy", use.device, lambda: policy_engine(checkpoint, use.device))
        return checkpoint_policy(checkpoint, engine=engine, **how)

    def heuristic(self, use: ModelUse) -> Heuristic:
        """A heuristic for one solve."""
        from oclgen.inference.devices import heuristic_engine
        from oclgen.inference.relational.heuristic import RelationalHeuristic
        from oclgen.inference.words.heuristic import ModelHeuristic

        if self.is_relational:
            return RelationalHeuristic(self._relational(use), percentile=use.percentile)
        checkpoint = self._checkpoint("heuristic")
        engine = self._keep("heuristic", use.device, lambda: heuristic_engine(checkpoint, use.device))
        return ModelHeuristic(checkpoint, percentile=use.percentile, engine=engine)

    @property
    def is_relational(self) -> bool:
        """Whether both models are heads of one network."""
        return encoding_kind(self.folder) == RELATIONAL

    def _relational(self, use: ModelUse) -> "RelationalModel":
        from oclgen.inference.devices import relational_model
        from oclgen.relational_checkpoint import load_relational

        def load() -> "RelationalModel":
            return relational_model(load_relational(self.folder / RELATIONAL.name), use.device, use.engine_threads)

        model: RelationalModel = self._keep(RELATIONAL.name, f"{use.device} {use.engine_threads}", load)
        return model

    def _checkpoint(self, kind: str) -> "Checkpoint":
        from oclgen.checkpoint import load_checkpoint

        checkpoint: Checkpoint = self._keep(kind, "checkpoint", lambda: load_checkpoint(self.folder / kind, kind))
        return checkpoint

    def _keep(self, kind: str, what: str, load: Callable[[], Any]) -> Any:
        if (kind, what) not in self._kept:
            self._kept[kind, what] = load()
        return self._kept[kind, what]


def import_engines() -> None:
    """What the first policy and heuristic import."""
    import oclgen.inference.checkpoint_policy
    import oclgen.inference.relational.heuristic  # noqa: F401


def load_model(folder: Path | str) -> LoadedModel:
    """The model in a folder. The last one is kept for the next call, unless its files have changed since."""
    place = Path(folder)
    files = sorted(path for pattern in STAMPED for path in place.glob(pattern))
    stamps = [path.stat() for path in files]
    return _last_model(place, tuple((stamp.st_ino, stamp.st_mtime_ns, stamp.st_size) for stamp in stamps))


@lru_cache(maxsize=1)
def _last_model(folder: Path, _stamps: tuple[tuple[int, int, int], ...]) -> LoadedModel:
    return LoadedModel(folder)
