"""Model folders that appear whole: a checkpoint and the search settings that suit it."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

from oclgen.checkpoint import read_json
from oclgen.encoding.kinds import RELATIONAL
from oclgen.learn.export import ship
from oclgen.support.files import copy_folder, replacing_folder, write_text

SIGNED = "# Written by oclgen learn ({digest}), which writes it anew unless it has been changed.\n"
SOLVE = """# Search settings that suit this model; any of them can be changed here.
# Rollouts are as long as the plans that the model has learned to write in one piece.
max_tokens = {max_tokens}
# {origin}
decoding = "{decoding}"
percentile = {percentile}
"""


@dataclass(frozen=True, slots=True)
class SearchChoice:
    """The settings that depend on the domain; the defaults are those of the profile `extended`."""

    decoding: str = "free"
    percentile: int = 50

    def text(self) -> str:
        return f"decoding {self.decoding}, percentile {self.percentile}"


def make_model(checkpoint: Path, folder: Path, choice: SearchChoice | None = None) -> None:
    """A model folder from a checkpoint of a training run; `choice` has been found by trying others, too."""
    with replacing_folder(folder) as made:
        ship(checkpoint, made / RELATIONAL.name)
        set_choice(made, choice)


def set_choice(folder: Path, choice: SearchChoice | None) -> None:
    """Write a model folder's search settings."""
    max_plan = int(read_json(folder / RELATIONAL.name / "settings.json")["max_plan"])
    origin = "These were the best of some that were tried on problems of this domain:"
    text = SOLVE.format(
        max_tokens=max_plan - 1,
        origin=origin if choice else "These suit most domains; no others were tried:",
        **asdict(choice or SearchChoice()),
    )
    write_text(folder / "solve.toml", signed(text))


def install(model: Path, out: Path) -> None:
    """Put a model into the user's folder, where other files may lie beside it. Settings that the user has changed
    stay."""
    copy_folder(model / RELATIONAL.name, out / RELATIONAL.name)
    there = out / "solve.toml"
    if not there.exists() or is_signed(there.read_text(encoding="utf-8")):
        write_text(there, (model / "solve.toml").read_text(encoding="utf-8"))


def signed(text: str) -> str:
    """With a first line that tells whether the rest is as it was written."""
    return SIGNED.format(digest=hashlib.sha256(text.encode()).hexdigest()[:16]) + text


def is_signed(text: str) -> bool:
    return text == signed(text.partition("\n")[2])
