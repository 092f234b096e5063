"""The layers of the package: each imports only layers below it, and torch is imported in `learn` only."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "oclgen"

FOUNDATION = {"errors", "interfaces"}
TASKS = FOUNDATION | {"support", "pddl", "domains"}
MODELS = TASKS | {"encoding", "checkpoint", "relational_checkpoint", "inference"}
SOLVING = TASKS | {
    *("search", "search_group", "classical", "model_folders", "loaded_model", "shorten", "method_choice"),
    *("settings_choice", "planner"),
}
TRAINING = SOLVING | MODELS | {"data", "learn"}
ALLOWED = {
    "errors": set(),
    "interfaces": set(),
    "support": {"errors"},
    "pddl": FOUNDATION | {"support"},
    "domains": {"errors", "support"},
    "search": FOUNDATION | {"support"},
    "classical": FOUNDATION | {"support", "pddl", "search"},
    "encoding": FOUNDATION | {"pddl"},
    "checkpoint": FOUNDATION | {"support", "encoding"},
    "relational_checkpoint": FOUNDATION | {"pddl", "encoding", "checkpoint"},
    "inference": FOUNDATION | {"pddl", "encoding", "checkpoint", "relational_checkpoint"},
    "model_folders": TASKS | {"encoding"},
    "loaded_model": MODELS | {"model_folders"},
    "shorten": TASKS | {"search", "classical"},
    "method_choice": TASKS | {"search", "classical", "model_folders"},
    "settings_choice": FOUNDATION | {"support", "search", "loaded_model"},
    "search_group": FOUNDATION | {"search"},
    "planner": SOLVING,
    "search_member": SOLVING,
    "output": FOUNDATION | {"support", "pddl", "search"},
    "search_dump": FOUNDATION | {"search"},
    "solve_process": SOLVING | {"output", "search_dump"},
    "demo": SOLVING,
    "up": SOLVING,
    "mcp_server": TASKS | {"model_folders"},
    "data": SOLVING | {"encoding", "checkpoint"},
    "learn": TASKS | MODELS | {"search", "data"},
    "improve": TRAINING,
    "pipeline": TRAINING | {"improve"},
    "bench": SOLVING | MODELS | {"data"},
    "report": SOLVING | {"bench"},
    "serve": SOLVING,
    "cli": TRAINING | {"solve_process", "demo", "mcp_server", "improve", "pipeline", "bench", "report", "serve"},
    "__main__": {"cli"},
    "__init__": {"planner", "loaded_model"},
}
"""Every layer, from the bottom to the top, with the layers that it may import."""
BY_NAME = {
    ("search_group", "search_member"),
    ("inference", "learn"),
    ("bench", "__main__"),
    ("mcp_server", "__main__"),
    ("serve", "__main__"),
}
"""Layers above that are used at run time only: the engine on torch, if it is asked for, and `oclgen solve` as a child
process."""
TORCH = {"torch", "transformers", "accelerate"}
"""Heavy packages that only `learn` may import."""
MODULE = re.compile(r"oclgen(\.\w+)+\.?")


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if "__pycache__" not in path.parts)


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """Absolute names of everything that is imported, at any depth of nesting."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named(tree: ast.AST) -> Iterator[str]:
    """Modules that are named by a string, for `importlib` or for `python -m`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            yield node.value.removesuffix(".")
        elif isinstance(node, ast.List | ast.Tuple):
            words = [each.value if isinstance(each, ast.Constant) else None for each in node.elts]
            yield from ("oclgen.__main__" for pair in pairwise(words) if pair == ("-m", "oclgen"))


def layers(names: Iterator[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("oclgen.")} - {"__version__"}


def test_every_layer_is_listed_above_all_that_it_may_import() -> None:
    assert {layer(path) for path in modules()} == set(ALLOWED)
    below: set[str] = set()
    for name, allowed in ALLOWED.items():
        assert allowed <= below | {name}, f"{name} may import what is listed after it"
        below.add(name)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_layers_below_it(path: Path) -> None:
    tree, own = ast.parse(path.read_text()), layer(path)
    allowed = ALLOWED[own] | {own}
    assert layers(imported(tree)) <= allowed
    assert layers(named(tree)) <= allowed | {other for one, other in BY_NAME if one == own}


def test_imports_by_string_are_seen() -> None:
    tree = ast.parse(
        'import_module("oclgen.learn.engines.words")\n'
        'import_module(f"oclgen.domains.{name}")\n'
        'run([python, "-m", "oclgen.bench.estimates"])\n'
        'run([python, "-m", "oclgen", "solve"])\n'
    )
    assert layers(named(tree)) == {"learn", "domains", "bench", "__main__"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_is_imported_in_learn_only(path: Path) -> None:
    used = {name.split(".")[0] for name in imported(ast.parse(path.read_text()))} & TORCH
    assert layer(path) == "learn" or not used


def test_no_verb_help_imports_torch_or_pandas() -> None:
    code = (
        "import sys; from oclgen.cli import run; run(['--help']); run(['solve', '--help']);"
        "sys.exit(bool({'torch', 'pandas', 'pyarrow', 'transformers', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
