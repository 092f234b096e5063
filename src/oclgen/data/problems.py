"""Where a data set's problems come from: drawn from a domain's distribution, or a user's own folder.

A user's folder is laid out as in the IPC learning track: `domain.pddl`, `training/**/*.pddl`, and optionally
`training_plans/**/*.plan` under the same names. In both cases problem number `index` is always the same problem.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oclgen.domains import catalog
from oclgen.domains.defaults import Defaults, Range, read_defaults
from oclgen.errors import InputError
from oclgen.model_folders import find_spec
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.reading.source import read_file


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem; `plan_file` is a plan that came with it, so that no teacher is needed."""

    index: int
    name: str
    text: str
    parameters: dict[str, int]
    file: Path | None = None
    plan_file: Path | None = None


@dataclass(frozen=True)
class Problems:
    """Problems by number; `None` past the last one. `recipe` is what they depend on; `size` is their number, None where
    they are drawn."""

    domain_text: str
    get: Callable[[int], Problem | None]
    defaults: Defaults | None
    recipe: dict[str, Any]
    size: int | None = None

    @property
    def translate_options(self) -> tuple[str, ...]:
        return self.defaults.teacher.translate_options if self.defaults else ()

    @property
    def meaningful_types(self) -> frozenset[str]:
        """Types whose objects are known by name: renaming them makes another problem."""
        pools = self.defaults.encoding.pool if self.defaults else ()
        return frozenset(name for pool in pools if pool.meaningful for name in pool.types)


def problems(name: str, seed: int, settings: Sequence[str]) -> Problems:
    """The problems of a catalogued domain or, if `name` is a folder with `training/`, those in it."""
    folder = Path(name)
    if name not in catalog.names() and (folder / "training").is_dir():
        if settings:
            raise InputError(f"{folder}: its problems are given, not drawn; leave out {settings[0]!r}")
        return from_folder(folder)
    if name not in catalog.names() and folder.is_dir() and not (folder / "generator.py").exists():
        raise InputError(f"{folder / 'training'}: no such folder; put problems (.pddl files) into it")
    return from_domain(name, seed, settings)


def from_domain(name: str, seed: int, settings: Sequence[str]) -> Problems:
    spec = catalog.load(name)
    changes = catalog.overrides(spec, settings)

    def get(index: int) -> Problem:
        drawn = catalog.draw(spec, seed, index, changes)
        return Problem(index, drawn.name, drawn.text, drawn.parameters)

    ranges = {key: spelled(values) for key, values in {**spec.defaults.generate, **changes}.items()}
    return Problems(spec.domain_text, get, spec.defaults, {"source": spec.name, "ranges": ranges})


def spelled(values: Range) -> str:
    """`3..25 log`, `3,5,8 uniform`."""
    low, high = min(values.values), max(values.values)
    whole = values.values == tuple(range(low, high + 1))
    return f"{low}..{high} {values.weights}" if whole else f"{','.join(map(str, values.values))} {values.weights}"


def from_folder(folder: Path) -> Problems:
    """Files in an order independent of their names, which often go from easy to hard."""
    training = folder / "training"
    files = [file for file in training.rglob("*.pddl") if file.name != "domain.pddl"]
    files.sort(key=lambda file: hashlib.sha256(file.relative_to(training).as_posix().encode()).digest())
    if not files:
        raise InputError(f"{folder / 'training'}: holds no .pddl file")

    def get(index: int) -> Problem | None:
        return from_file(index, files[index], folder) if index < len(files) else None

    domain_text = read_file(folder / "domain.pddl", "domain").text
    recipe = {"source": folder.resolve().name, "ranges": {}}
    return Problems(domain_text, get, folder_defaults(folder), recipe, len(files))


def folder_defaults(folder: Path) -> Defaults | None:
    """The folder's own defaults, or those of the domain if it is in the catalogue."""
    if (folder / "defaults.toml").exists():
        return read_defaults(folder / "defaults.toml")
    domain = read_domain(folder / "domain.pddl")
    spec = find_spec(domain)
    return spec.defaults if spec and spec.defaults.domain == domain.name else None


def from_file(index: int, file: Path, folder: Path) -> Problem:
    name = file.relative_to(folder / "training").with_suffix("").as_posix()
    plan_file = folder / "training_plans" / f"{name}.plan"
    text = read_file(file, "problem").text
    return Problem(index, name, text, {}, file, plan_file if plan_file.exists() else None)
