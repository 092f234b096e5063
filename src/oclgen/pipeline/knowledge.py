"""The domain knowledge of the IPC's learning track: a model in one file.

Each better model appears by rename as `DK.1`, `DK.2` and so on; `DK` itself is always the newest of them.
"""

import zipfile
from pathlib import Path

from oclgen.encoding.kinds import RELATIONAL
from oclgen.errors import InputError
from oclgen.support.files import replacing


def publish(model: Path, knowledge: Path) -> None:
    number = 1 + max(versions(knowledge), default=0)
    pack(model, knowledge.with_name(f"{knowledge.name}.{number}"))
    pack(model, knowledge)


def versions(knowledge: Path) -> list[int]:
    """Numbers of the knowledge files that are there."""
    found = knowledge.parent.glob(f"{knowledge.name}.*")
    return [int(path.suffix[1:]) for path in found if path.suffix[1:].isdigit() and path.stem == knowledge.name]


def pack(model: Path, file: Path) -> None:
    with replacing(file) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [*sorted((model / RELATIONAL.name).iterdir()), model / "solve.toml"]:
            archive.write(path, path.relative_to(model))


def unpack(file: Path, folder: Path) -> Path:
    """A model folder from a knowledge file."""
    try:
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
    except FileNotFoundError:
        raise InputError(f"{file}: no such knowledge file") from None
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{file}: not a knowledge file of oclgen ({error})") from None
    return folder
