"""Domains by folder: `domain.pddl`, `defaults.toml` and `generator.py` make a domain; there is no registry.

A generator has `generate(rng, **parameters) -> str`, whose parameters are the keys of the `[generate]` table, and may
have `refusal(**parameters) -> str | None`, which says why a combination is impossible. `draw` is a pure function of
the seed and an index, so that workers can draw independently of each other. Paper: Appendix A.

There may also be `picture.py`: its `picture(atoms, goal) -> str` draws a state and its goal as text.
"""

import hashlib
import importlib.util
import inspect
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType

from oclgen.domains.defaults import Defaults, Range, parse_range, read_defaults
from oclgen.errors import InputError
from oclgen.support.distinct import distinct as without_repetitions

HOME = Path(__file__).parent
MAX_REFUSALS = 10_000
Picture = Callable[[Collection[tuple[str, ...]], Collection[tuple[str, ...]]], str]
PROBLEM_NAME = re.compile(r"\(\s*problem\s+([^\s()]+)\s*\)", re.IGNORECASE)


@dataclass(frozen=True)
class DomainSpec:
    """A domain folder that has been read; the generator's code is loaded when first asked for."""

    name: str
    path: Path
    domain_text: str
    defaults: Defaults

    @property
    def generator(self) -> ModuleType:
        return load_generator(self.path, tuple(self.defaults.generate))

    @property
    def picture(self) -> Picture | None:
        """None where the folder has no `picture.py`."""
        path = self.path / "picture.py"
        picture: Picture | None = load_module(path).picture if path.is_file() else None
        return picture


@dataclass(frozen=True)
class Drawn:
    """One instance. `key` is equal for two instances that differ in nothing but name, comments and spacing."""

    text: str
    name: str
    parameters: dict[str, int]
    seed: int
    index: int
    key: bytes


def names() -> list[str]:
    """The domains that come with the package."""
    return sorted(path.parent.name for path in HOME.glob("*/defaults.toml"))


def load(name: str | Path) -> DomainSpec:
    """A domain of the package by name, or any folder with the same layout by path."""
    folder = HOME / name if str(name) in names() else Path(name)
    if not folder.is_dir():
        raise InputError(f"no domain {name}: neither a folder nor one of {', '.join(names())}")
    path = folder / "domain.pddl"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    label = re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().name.lower())
    return DomainSpec(label, folder.resolve(), text, read_defaults(folder / "defaults.toml"))


@cache
def load_generator(folder: Path, parameters: tuple[str, ...]) -> ModuleType:
    """Import `generator.py`, and check that it takes the parameters that `defaults.toml` lists."""
    path = folder / "generator.py"
    if not path.is_file():
        raise InputError(f"{path}: missing, so this domain's problems cannot be drawn")
    module = load_module(path)
    if not callable(getattr(module, "generate", None)):
        raise InputError(f"{path}: has no function generate(rng, **parameters)")
    taken = list(inspect.signature(module.generate).parameters)[1:]
    if sorted(taken) != sorted(parameters):
        raise InputError(
            f"{path}: generate takes {', '.join(taken) or 'no parameters'}, "
            f"but [generate] in defaults.toml lists {', '.join(parameters) or 'none'}"
        )
    return module


def load_module(path: Path) -> ModuleType:
    if path.parent.parent == HOME:
        return importlib.import_module(f"oclgen.domains.{path.parent.name}.{path.stem}")
    spec = importlib.util.spec_from_file_location(f"oclgen_domain_{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: {type(error).__name__}: {error}") from error
    return module


def overrides(spec: DomainSpec, settings: Iterable[str]) -> dict[str, Range]:
    """`key=7` or `key=3..25` texts as ranges; weights stay the domain's."""
    result: dict[str, Range] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key not in spec.defaults.generate or not equals:
            known = ", ".join(spec.defaults.generate)
            raise InputError(f"{setting!r}: expected key=value or key=low..high with one of the keys {known}")
        result[key] = parse_range(value, spec.defaults.generate[key].weights, setting)
    return result


def sample_parameters(
    spec: DomainSpec, rng: random.Random, changes: Mapping[str, Range] | None = None
) -> dict[str, int]:
    """Each parameter from its own range, drawn again as a whole while the generator refuses the combination."""
    ranges = {**spec.defaults.generate, **(changes or {})}
    refusal = getattr(spec.generator, "refusal", None)
    for _ in range(MAX_REFUSALS):
        parameters = {key: values.sample(rng) for key, values in ranges.items()}
        reason = refusal(**parameters) if refusal is not None else None
        if reason is None:
            return parameters
    raise InputError(f"{spec.name}: no possible combination of parameters; the last one tried: {reason}")


def draw(spec: DomainSpec, seed: int, index: int, changes: Mapping[str, Range] | None = None) -> Drawn:
    """Instance `index` of the stream that `seed` and `changes` (overridden ranges) define."""
    rng = random.Random(f"{seed} {index}")
    parameters = sample_parameters(spec, rng, changes)
    generated: str = spec.generator.generate(rng, **parameters)
    if PROBLEM_NAME.search(generated) is None:
        raise InputError(f"{spec.path / 'generator.py'}: generate returned a text without (problem NAME)")
    settings = "".join(f"-{key}{value}" for key, value in parameters.items()).replace("_", "-")
    name = f"{spec.name}{settings}-seed{seed}-{index}"
    listed = " ".join(f"{key}={value}" for key, value in parameters.items())
    text = PROBLEM_NAME.sub(f"(problem {name})", generated, count=1)
    return Drawn(
        text=f"; {spec.name}: {listed}\n; random seed {seed}, draw {index}\n{text}",
        name=name,
        parameters=parameters,
        seed=seed,
        index=index,
        key=content_key(generated),
    )


def content_key(problem: str) -> bytes:
    """A digest of a problem without its name, comments and spacing."""
    bare = re.sub(r";[^\n]*", "", PROBLEM_NAME.sub("", problem, count=1))
    return hashlib.sha256(" ".join(bare.split()).encode()).digest()[:16]


def distinct(spec: DomainSpec, seed: int, changes: Mapping[str, Range] | None = None) -> Iterator[Drawn]:
    """The stream without repetitions. It ends where a class is exhausted: when long nothing new was drawn."""
    stream = (draw(spec, seed, index, changes) for index in count())
    return (drawn for drawn, _ in without_repetitions(stream, key=lambda drawn: drawn.key))
