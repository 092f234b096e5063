"""Model folders without a network."""

from pathlib import Path

from oclgen.pipeline.installing import SearchChoice, set_choice


def fake_model(folder: Path, choice: SearchChoice | None = None, weights: str = "") -> Path:
    """What the installer looks at, and weights to tell one from another."""
    (folder / "relational").mkdir(parents=True, exist_ok=True)
    (folder / "relational" / "settings.json").write_text('{"max_plan": 73}')
    (folder / "relational" / "weights").write_text(weights)
    set_choice(folder, choice)
    return folder


def weights(folder: Path) -> str:
    return (folder / "relational" / "weights").read_text()
