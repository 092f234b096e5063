"""Everything a loop of self-improvement can be told: a TOML file and `table.key=value` overrides, all checked.

The defaults are the paper's Blocksworld loop; `ExtraExamples` holds what goes beyond the paper, each part of it off by
default. The resolved settings are saved with the loop and compared when it is resumed.

Paper: Appendix "Self-improvement Details" (tab:ft_hyperparameters, tab:ft_hyperparameters_heuristic_model).
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oclgen.errors import InputError
from oclgen.learn.settings import Data, Optimizer, Run, Schedule
from oclgen.search.settings import PROFILES
from oclgen.support.files import write_json
from oclgen.support.settings import apply_overrides, build, parse_duration, read_table, require

METHODS = ("oclgen", "mcts")
CHANGEABLE = ("n_loop", "relational", "policy", "heuristic")


@dataclass(frozen=True, slots=True)
class ProblemSettings:
    """Problems with a teacher's plan: of a data set, or of a domain, drawn and solved as by `oclgen data`."""

    path: str = ""  # folder of the data set
    domain: str = ""  # or the domain to draw from, into the loop's own folder
    ranges: tuple[str, ...] = ()  # to draw from, such as blocks=3..12
    seed: int = 0  # of drawing
    time_limit: str = "20m"  # of the teacher
    per_loop: int = 3000  # new training problems for each iteration
    validation: int = 100  # the same in each iteration: searched like the others, for the validation loss
    test: int = 1000  # never learned from

    def __post_init__(self) -> None:
        require(min(self.per_loop, self.validation, self.test) > 0, "problems: all numbers must be > 0")
        parse_duration(self.time_limit)


@dataclass(frozen=True, slots=True)
class Searching:
    """The method that looks for better plans, and what each problem is given."""

    method: str = "oclgen"
    profile: str = "paper"
    settings: dict[str, Any] = field(default_factory=dict)  # overrides of single search settings
    oclgen: dict[str, Any] = field(default_factory=dict)  # the same, of method oclgen only
    mcts: dict[str, Any] = field(default_factory=dict)  # the same, of method mcts only
    time_limit: str = "3m"
    iterations: int = 0  # 0 = as many as there is time for
    memory_mb: int = 8192

    def __post_init__(self) -> None:
        require(self.method in METHODS, f"search.method must be one of {', '.join(METHODS)}")
        require(self.profile in PROFILES, f"search.profile must be one of {', '.join(PROFILES)}")
        require(self.iterations >= 0 and self.memory_mb > 0, "search: iterations must be >= 0, memory_mb > 0")
        require(self.seconds is not None or self.iterations > 0, "search: give time_limit or iterations")

    @property
    def in_force(self) -> dict[str, Any]:
        """The overrides that the method is given."""
        return self.settings | (self.oclgen if self.method == "oclgen" else self.mcts)

    @property
    def seconds(self) -> float | None:
        """The time limit, if there is one."""
        return (parse_duration(self.time_limit) if self.time_limit else 0.0) or None


@dataclass(frozen=True, slots=True)
class ExtraExamples:
    """What is learned beside the one plan per problem of the paper; all ours.

    `plans`, `states` and `dead_ends` come from the graph of a search, which method mcts does not have: there they mean
    nothing.
    """

    bank: bool = False  # every problem of every iteration so far, with the best plan ever known for it
    plans: int = 1  # distinct shortest plans per problem, where the search graph holds several
    states: int = 0  # per problem: other states of the search graph, with the best known plans from there
    slack: int = 2  # states on detours of at most so many steps
    dead_ends: int = 0  # per problem: states where rollouts ended; LAMA is asked whether they are dead ends
    teacher: float = 0.0  # teacher's plans of other training problems, as a share of the searched ones

    def __post_init__(self) -> None:
        require(self.plans > 0, "extra.plans must be > 0")
        numbers = min(self.states, self.slack, self.dead_ends, self.teacher)
        require(numbers >= 0, "extra: states, slack, dead_ends and teacher must be >= 0")

    @property
    def from_graph(self) -> bool:
        return self.plans > 1 or self.states > 0 or self.dead_ends > 0


@dataclass(frozen=True, slots=True)
class Finetuning:
    """How one network goes on learning; its shape is that of the checkpoint."""

    dropout: float = 0.0
    data: Data = field(default_factory=lambda: Data(batch_examples=16))
    optimizer: Optimizer = field(default_factory=lambda: Optimizer(lr=1e-5))
    schedule: Schedule = field(default_factory=lambda: Schedule(epochs=100.0))
    run: Run = field(default_factory=Run)

    def __post_init__(self) -> None:
        ours = self.data.path or self.data.domain or self.data.vocabulary or self.run.initial
        require(not ours, "the loop itself sets data.path, data.domain, data.vocabulary and run.initial")


@dataclass(frozen=True, slots=True)
class RelationalFinetuning(Finetuning):
    """The same for a relational network, which writes windows of plans."""

    data: Data = field(default_factory=lambda: Data(batch_tokens=4000, window=20))


@dataclass(frozen=True, slots=True)
class BestOfN:
    """After each iteration the policy alone is tried on the test problems (tab:improvement_loop)."""

    samples: int = 10
    links: int | None = None  # rollouts chained into one; None = as the profile has it
    profile: str = "paper"
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(self.profile in PROFILES, f"evaluation.profile must be one of {', '.join(PROFILES)}")
        links = 1 if self.links is None else self.links
        require(min(self.samples, links) > 0, "evaluation: samples and links must be > 0")


@dataclass(frozen=True, slots=True)
class ImproveSettings:
    """A whole loop."""

    n_loop: int = 3
    seed: int = 0
    problems: ProblemSettings = field(default_factory=ProblemSettings)
    search: Searching = field(default_factory=Searching)
    extra: ExtraExamples = field(default_factory=ExtraExamples)
    relational: RelationalFinetuning = field(default_factory=RelationalFinetuning)
    policy: Finetuning = field(default_factory=Finetuning)  # of a model with two networks
    heuristic: Finetuning = field(default_factory=Finetuning)
    evaluation: BestOfN = field(default_factory=BestOfN)

    def __post_init__(self) -> None:
        require(self.n_loop > 0, "n_loop must be > 0")
        require(self.relational.data.window > 0, "relational.data.window must be > 0")

    def tuning(self, kind: str) -> Finetuning:
        return {"relational": self.relational, "policy": self.policy, "heuristic": self.heuristic}[kind]

    @property
    def extra_in_force(self) -> ExtraExamples:
        """Without what the method cannot give."""
        without = dataclasses.replace(self.extra, plans=1, states=0, dead_ends=0)
        return self.extra if self.search.method == "oclgen" else without


def read_settings(path: Path, overrides: Iterable[str] = ()) -> ImproveSettings:
    """Settings from a TOML file (or the JSON of a saved loop)."""
    table = read_table(path)
    apply_overrides(table, overrides)
    return build(ImproveSettings, table, str(path))


def save_settings(path: Path, settings: ImproveSettings) -> None:
    write_json(path, dataclasses.asdict(settings))


def check_unchanged(path: Path, settings: ImproveSettings) -> None:
    """A loop may become longer and learn otherwise, after a run that diverged say; the rest stays what it was."""
    saved = read_settings(path)
    fixed = [field.name for field in dataclasses.fields(saved) if field.name not in CHANGEABLE]
    changed = [name for name in fixed if getattr(saved, name) != getattr(settings, name)]
    if changed:
        raise InputError(f"{path}: {changed[0]} cannot change when a loop is resumed ({', '.join(CHANGEABLE)} can)")
