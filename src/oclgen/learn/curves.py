"""The curves of a run, drawn from its metrics.jsonl."""

from pathlib import Path

from matplotlib.figure import Figure

from oclgen.errors import InputError
from oclgen.support.files import read_json_lines, replacing


def read_metrics(folder: Path) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Group -> name -> (step, value) pairs."""
    path = folder / "metrics.jsonl"
    if not path.exists():
        raise InputError(f"{path}: missing; train first")
    series: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for entry in read_json_lines(path):
        group, step = entry.pop("group"), entry.pop("step")
        for name, value in entry.items():
            series.setdefault(group, {}).setdefault(name, []).append((step, value))
    return series


def draw_curves(folder: Path) -> Path:
    """Loss, accuracy and rollouts over steps, as curves.png in the run's folder."""
    series = read_metrics(folder)
    figure = Figure(figsize=(12, 3.5), layout="constrained")
    panels = figure.subplots(1, 3)
    shown = [("train", "loss"), ("train", "accuracy"), ("train", "tokens_per_second")]
    if "generation" in series:
        shown[2] = ("generation", "completion")
    for panel, (group, name) in zip(panels, shown, strict=True):
        for each in dict.fromkeys((group, "validation")):
            points = series.get(each, {}).get(name, [])
            if points:
                panel.plot(*zip(*points, strict=True), label=each, marker="." if each != "train" else "")
        panel.set(title=name.replace("_", " "), xlabel="step")
        panel.legend()
    panels[0].set_yscale("log")
    path = folder / "curves.png"
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
    return path
