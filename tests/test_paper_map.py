"""docs/paper-map.md points at code that exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TARGETS = sorted(set(re.findall(r"`((?:src|configs|benchmarks)/[^`]+)`", (ROOT / "docs" / "paper-map.md").read_text())))


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_of_the_paper_map_exists(target: str) -> None:
    path, _, name = target.partition("::")
    assert (ROOT / path).is_file()
    if name:
        tree = ast.parse((ROOT / path).read_text())
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        names |= {
            t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
        }
        assert name in names


def test_the_paper_map_names_targets() -> None:
    assert len(TARGETS) > 20
