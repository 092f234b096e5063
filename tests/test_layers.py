"""The house stands on one-way arrows: each layer imports only what lies below it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "oclgen"

FOUNDATION = {"errors", "interfaces"}
ALLOWED = {
    "errors": set(),
    "interfaces": set(),
    "child": set(),
    "parallel": {"child", "errors"},
    "search": FOUNDATION,
    "pddl": FOUNDATION,
    "domains": {"errors"},
    "encoding": FOUNDATION | {"pddl"},
    "checkpoint": FOUNDATION | {"encoding"},
    "inference": FOUNDATION | {"pddl", "encoding", "checkpoint"},
    "fast_downward": FOUNDATION | {"child", "pddl", "search"},
    "breadth_first": FOUNDATION | {"child", "fast_downward", "pddl", "search"},
    "models": FOUNDATION | {"pddl", "domains"},
    "planner": FOUNDATION | {"pddl", "models", "search", "inference", "fast_downward", "breadth_first"},
}
TORCH = {"torch", "transformers", "accelerate"}
"""Heavy packages that only `learn` may import."""


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if "__pycache__" not in path.parts)


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Absolute names of everything a file imports, at any depth of nesting."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_layers_below_it(path: Path) -> None:
    allowed = ALLOWED.get(layer(path))
    if allowed is None:
        return
    used = {name.split(".")[1] for name in imported(path) if name.startswith("oclgen.") and name.count(".")}
    assert used <= allowed | {layer(path), "__version__"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_is_imported_in_learn_only(path: Path) -> None:
    if layer(path) != "learn":
        assert not {name.split(".")[0] for name in imported(path)} & TORCH


def test_no_verb_help_imports_torch_or_pandas() -> None:
    code = (
        "import sys; from oclgen.cli import run; run(['--help']); run(['solve', '--help']);"
        "sys.exit(bool({'torch', 'pandas', 'pyarrow', 'transformers', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
