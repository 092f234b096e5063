"""Model folders that appear whole: a checkpoint and the search settings that suit it."""

from pathlib import Path

from oclgen.checkpoint import read_json
from oclgen.encoding.kinds import RELATIONAL
from oclgen.learn.export import ship
from oclgen.support.files import copy_folder, replacing_folder, write_text

SOLVE = """# Search settings that suit this model; any of them can be changed here.
# Rollouts are as long as the plans that the model has learned to write in one piece.
max_tokens = {max_tokens}
# On a CPU asking the heuristic about every child costs more than it brings: expand where the policy is very unsure.
confidence = 0.2
percentile = 20
"""


def make_model(checkpoint: Path, folder: Path) -> None:
    """A model folder from a checkpoint of a training run."""
    with replacing_folder(folder) as made:
        ship(checkpoint, made / RELATIONAL.name)
        max_plan = int(read_json(checkpoint / "settings.json")["max_plan"])
        write_text(made / "solve.toml", SOLVE.format(max_tokens=max_plan - 1))


def install(model: Path, out: Path) -> None:
    """Put a model into the user's folder, where other files may lie beside it; settings that the user has changed
    stay."""
    copy_folder(model / RELATIONAL.name, out / RELATIONAL.name)
    if not (out / "solve.toml").exists():
        write_text(out / "solve.toml", (model / "solve.toml").read_text(encoding="utf-8"))
