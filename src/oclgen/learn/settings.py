"""The settings of a training run: checked values from a TOML file and `table.key=value` overrides.

A key that does not exist, a value of the wrong type or a combination that makes no sense is refused before
anything is loaded. The resolved settings are saved with the run and read back when it is resumed.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from oclgen.checkpoint import ModelSettings
from oclgen.encoding.kinds import ENCODINGS, RELATIONAL, WORDS, encoding_of
from oclgen.encoding.relational import Relation
from oclgen.errors import InputError
from oclgen.relational_checkpoint import RelationalSettings
from oclgen.support.files import write_json
from oclgen.support.settings import apply_overrides, build, parse_duration, read_table, require


@dataclass(frozen=True, slots=True)
class Model:
    """The network: the paper's GPT-2 and BERT (`words`), or one relational network with both heads."""

    encoding: str = WORDS.name
    layers: int = 4
    heads: int = 4
    width: int = 128
    inner: int = 512
    max_prompt: int = 512
    max_plan: int = 0  # positions of plan tokens, the opening one included
    max_cost: int = 0  # heuristic: largest cost-to-go that has a class of its own
    dropout: float = 0.0
    decoder_layers: int = 2  # relational: `layers` are those of the encoder
    relation: int = 64  # relational: width of the maps of relations
    cost_weight: float = 3.0  # relational: one cost-to-go counts as much as so many tokens

    def __post_init__(self) -> None:
        require(self.encoding in ENCODINGS, f"model.encoding must be one of {', '.join(ENCODINGS)}")
        require(min(self.layers, self.heads, self.width, self.inner, self.max_prompt) > 0, "model: sizes must be > 0")
        require(self.width % self.heads == 0, "model.width must be a multiple of model.heads")
        require(0 <= self.dropout < 1, "model.dropout must lie in [0, 1)")


@dataclass(frozen=True, slots=True)
class Data:
    """Which examples, and how they are cut and grouped. Exactly one of the two batch sizes is given."""

    path: str = ""  # folder of the data set
    domain: str = ""  # whose `[encoding]` table makes the vocabulary: a name or a folder
    vocabulary: str = ""  # or a vocabulary.json
    left_out: bool = True  # leave out the static predicates that the domain's defaults name
    offsets: bool = True  # the paper's action compilation: start at a random step of the plan
    window: int = 0  # policy: at most so many actions per example; 0 = the whole rest of the plan
    shuffle_names: bool = False  # give objects random tokens of their pool, where names carry no meaning
    batch_examples: int = 0  # examples per process and step
    batch_tokens: int = 0  # or prompt rows and plan tokens per process and step, padding included

    def __post_init__(self) -> None:
        require((self.batch_examples > 0) != (self.batch_tokens > 0), "data: give batch_examples or batch_tokens")
        require(self.window >= 0, "data.window must be >= 0")


@dataclass(frozen=True, slots=True)
class Optimizer:
    """AdamW for everything, or Muon for the matrices inside the blocks and AdamW for the rest."""

    name: str = "adamw"
    lr: float = 3e-4  # of AdamW
    hidden_lr: float = 0.02  # of Muon
    betas: tuple[float, ...] = (0.9, 0.999)
    momentum: float = 0.95  # of Muon
    weight_decay: float = 0.0
    clip: float = 1.0  # largest gradient norm; 0 = no limit

    def __post_init__(self) -> None:
        require(self.name in ("adamw", "muon"), "optimizer.name must be adamw or muon")
        require(self.lr > 0 and self.hidden_lr > 0, "optimizer: learning rates must be > 0")
        require(len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas), "optimizer.betas: two in [0, 1)")
        require(self.weight_decay >= 0 and self.clip >= 0, "optimizer: weight_decay and clip must be >= 0")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Length and shape of the learning rate. Exactly one of steps, epochs and time is given.

    With `time`, the number of steps is decided once, from the throughput measured so far, and recorded: for a
    trapezoid when its decay must begin, for a cosine after a fiftieth of the time.
    """

    name: str = "constant"
    warmup: int = 0  # steps
    decay: float = 0.4  # trapezoid: the last part of the run, in which the rate falls to zero
    steps: int = 0
    epochs: float = 0.0
    time: str = ""  # such as 90m; of training in all, over every resumption
    most_epochs: float = 0.0  # with time: at most so many passes, because few plans are soon memorised; 0 = any
    stale: float = 0.0  # trapezoid with time: decay if validation got no better in this last share of steps; 0 = never

    def __post_init__(self) -> None:
        require(self.name in ("constant", "cosine", "trapezoid"), "schedule.name: constant, cosine or trapezoid")
        lengths = (self.steps > 0) + (self.epochs > 0) + bool(self.time)
        require(lengths == 1, "schedule: give exactly one of steps, epochs and time")
        require(self.warmup >= 0 and 0 < self.decay < 1, "schedule: warmup must be >= 0, decay in (0, 1)")
        require(0 <= self.stale < 1, "schedule.stale must lie in [0, 1)")
        if self.time:
            parse_duration(self.time)

    @property
    def seconds(self) -> float:
        """The length in seconds, 0 where it is not given as a time."""
        return parse_duration(self.time) if self.time else 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """How the loop runs."""

    seed: int = 0
    device: str = "auto"  # cpu, cuda, or cuda where there is one
    precision: str = "float32"  # or autocast to bfloat16 or float16
    accumulate: int = 1  # batches per step
    recompute: bool = False  # activation checkpointing: compute activations again instead of keeping them
    threads: int = 0  # of torch; 0 = its own choice
    initial: str = ""  # checkpoint to start from (finetuning)
    log_every: int = 10  # steps
    validate_every: int = 500  # steps
    validation_examples: int = 1000
    save_every: str = "5m"  # of the state to resume from; also saved at each stop
    patience: str = "30m"  # a process that does not answer for so long counts as lost

    def __post_init__(self) -> None:
        require(self.device in ("auto", "cpu", "cuda"), "run.device must be auto, cpu or cuda")
        known = ("float32", "bfloat16", "float16")
        require(self.precision in known, f"run.precision must be one of {', '.join(known)}")
        positive = (self.accumulate, self.log_every, self.validate_every, self.validation_examples)
        require(min(positive) > 0, "run: accumulate, log_every, validate_every and validation_examples must be > 0")
        require(self.threads >= 0, "run.threads must be >= 0")
        parse_duration(self.save_every)
        parse_duration(self.patience)


@dataclass(frozen=True, slots=True)
class Generation:
    """Policy only: how many validation problems sampled rollouts complete, because the loss alone hides failure."""

    problems: int = 0  # 0 = not measured
    samples: int = 10  # rollouts per state
    links: int = 1  # chained rollouts: the next one starts where the longest valid one ended
    every: int = 1  # at every n-th validation

    def __post_init__(self) -> None:
        require(min(self.samples, self.links, self.every) > 0 and self.problems >= 0, "generation: must be > 0")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """A whole run."""

    kind: str
    model: Model = field(default_factory=Model)
    data: Data = field(default_factory=lambda: Data(batch_examples=32))
    optimizer: Optimizer = field(default_factory=Optimizer)
    schedule: Schedule = field(default_factory=lambda: Schedule(steps=1000))
    run: Run = field(default_factory=Run)
    generation: Generation = field(default_factory=Generation)

    def __post_init__(self) -> None:
        encoding = encoding_of(self.kind)
        require(self.model.encoding == encoding.name, f"model.encoding of a {self.kind} model must be {encoding.name}")
        limit = "max_cost" if self.kind == "heuristic" else "max_plan"
        require(getattr(self.model, limit) > 0, f"a {self.kind} needs model.{limit}")
        require(encoding != RELATIONAL or self.data.window > 0, "a relational model needs data.window")

    def shape(self, revision: str = "") -> ModelSettings:
        """What a checkpoint's settings.json says of the network."""
        model = dataclasses.asdict(self.model)
        for name in ("dropout", "decoder_layers", "relation", "cost_weight"):
            del model[name]
        return ModelSettings(kind=self.kind, revision=revision, **model)

    def relational_shape(self, relations: tuple[Relation, ...], distances: bool) -> RelationalSettings:
        """The same for a relational model, whose relations come from the data."""
        model = self.model
        return RelationalSettings(
            width=model.width,
            heads=model.heads,
            inner=model.inner,
            relation=model.relation,
            encoder_layers=model.layers,
            decoder_layers=model.decoder_layers,
            max_plan=model.max_plan,
            relations=relations,
            distances=distances,
        )


def read_settings(path: Path, kind: str | None = None, overrides: Iterable[str] = ()) -> TrainingSettings:
    """Settings from a TOML file (or the JSON of a saved run) with `table.key=value` overrides on top."""
    table = read_table(path)
    apply_overrides(table, overrides)
    settings = build(TrainingSettings, table, str(path))
    if kind not in (None, settings.kind):
        raise InputError(f"{path}: this is a recipe for a {settings.kind}, not for a {kind}")
    return settings


def save_settings(path: Path, settings: TrainingSettings) -> None:
    write_json(path, dataclasses.asdict(settings))
