"""Which model and which settings belong to a domain: matched by the content of the domain, not by its name.

A model folder holds `relational/` (one checkpoint with both heads), or `policy/` and `heuristic/`, and may hold
`solve.toml`, the search settings that suit it. Shipped models lie in `pretrained/<domain>/`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from oclgen.domains import catalog
from oclgen.encoding.kinds import ENCODINGS, WORDS, EncodingKind
from oclgen.errors import InputError, OclgenError
from oclgen.pddl.model import DomainInfo
from oclgen.pddl.reading.domain import read_domain
from oclgen.support.settings import read_table

PRETRAINED = Path(__file__).parent / "pretrained"


def same_domain(one: DomainInfo, other: DomainInfo) -> bool:
    """Equal types, constants, predicates and operators; the name may differ."""
    return replace(one, name=other.name) == other


def shipped() -> Iterator[Path]:
    """The model folders that come with the package."""
    return (folder for folder in sorted(PRETRAINED.iterdir()) if domain_file(folder).is_file())


def find_model(domain: DomainInfo) -> Path:
    """The shipped model for a domain."""
    for folder in shipped():
        if same_domain(model_domain(folder), domain):
            return folder
    known = ", ".join(folder.name for folder in shipped()) or "none"
    raise InputError(
        f"no shipped model fits domain {domain.name!r} (shipped: {known}); "
        "give one with --model, or make one with: oclgen learn"
    )


def has_model(domain: DomainInfo) -> bool:
    """Whether a model for a domain is shipped."""
    try:
        find_model(domain)
    except InputError:
        return False
    return True


def own_models(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The model folders that a server is given, as absolute paths; one without a model is refused."""
    found = tuple(folder.resolve() for folder in folders)
    for folder in found:
        model_domain(folder)
    return found


def own_model(folders: Iterable[Path], path: Path) -> Path | None:
    """The first of a server's own models that was made for the domain in a file."""
    try:
        domain = read_domain(path)
    except OclgenError:
        return None  # the search says what is wrong with it
    return next((folder for folder in folders if same_domain(model_domain(folder), domain)), None)


def check_model(folder: Path, domain: DomainInfo) -> None:
    """Refuse a model of another domain."""
    trained = model_domain(folder)
    if not same_domain(trained, domain):
        raise InputError(f"{folder}: trained for domain {trained.name!r}, which differs from {domain.name!r}")


def model_domain(folder: Path) -> DomainInfo:
    path = domain_file(folder)
    if not path.is_file():
        raise InputError(f"{folder}: no such model folder (it must hold relational/, or policy/ and heuristic/)")
    return read_domain(path)


def domain_file(folder: Path) -> Path:
    """The domain that a model folder is for."""
    return folder / encoding_kind(folder).checkpoints[0] / "domain.pddl"


def encoding_kind(folder: Path) -> EncodingKind:
    """The encoding of the checkpoints in a model folder."""
    held = (each for each in ENCODINGS.values() if (folder / each.checkpoints[0]).is_dir())
    return next(held, WORDS)


def model_settings(folder: Path) -> dict[str, Any]:
    """What the model's `solve.toml` says, if it has one."""
    path = folder / "solve.toml"
    return read_table(path) if path.exists() else {}


def find_spec(domain: DomainInfo) -> catalog.DomainSpec | None:
    """The catalogued domain with the same content, whatever its name, if there is one."""
    for name in catalog.names():
        spec = catalog.load(name)
        if same_domain(read_domain(spec.domain_text), domain):
            return spec
    return None
