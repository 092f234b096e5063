"""The documents name code that exists, and the map of the package is complete."""

import ast
import re
from pathlib import Path

import pytest

from tests.test_layers import ALLOWED, SOURCE

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    *("README.md", "CONTRIBUTING.md", "docs/architecture.md"),
    *("docs/paper-map.md", "docs/results.md", "docs/usage.md"),
)
TARGET = re.compile(r"`((?:src|configs|benchmarks|scripts|tests|docs)/[^`\s]*)`")
TARGETS = sorted({(name, target) for name in DOCUMENTS for target in TARGET.findall((ROOT / name).read_text())})


def names(path: Path) -> set[str]:
    """What a module defines at its top level."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found.update(target.id for target in targets if isinstance(target, ast.Name))
    return found


@pytest.mark.parametrize(("document", "target"), TARGETS)
def test_every_path_that_a_document_names_exists(document: str, target: str) -> None:
    path, _, name = target.partition("::")
    assert list(ROOT.glob(path.rstrip("/"))), f"{document} names {path}"
    if name:
        assert name in names(ROOT / path), f"{document} names {target}"


@pytest.mark.parametrize("document", ["docs/architecture.md", "docs/paper-map.md"])
def test_the_maps_name_many_places(document: str) -> None:
    assert sum(each == document for each, _ in TARGETS) > 20


def test_the_tree_lists_every_layer_once_from_the_bottom_to_the_top() -> None:
    tree = re.findall(r"^\| `([\w./]+)` \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    layers = [name for name in ALLOWED if not name.startswith("__")]
    assert tree == [f"{name}/" if (SOURCE / name).is_dir() else f"{name}.py" for name in layers] + ["pretrained/"]


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_lines_are_short_enough_to_read(document: str) -> None:
    long = [line for line in (ROOT / document).read_text().splitlines() if len(line) > 120]
    assert not long
