"""CONTRIBUTING.md says where each thing is added: one place each, and nothing else has to change."""

import ast
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from oclgen import cli, planner, search
from oclgen.classical import planners
from oclgen.classical.fast_downward import LAMA_FIRST, FastDownward
from oclgen.cli.learning.data import command as data_command
from oclgen.cli.planning.solve import command as solve_command
from oclgen.domains import catalog
from oclgen.search.anytime import Ending, Search
from oclgen.search.settings import Settings
from tests.model_folder import write_random_model

ROOT = Path(__file__).parent.parent
SPEC = catalog.load("blocksworld")
PROBLEM = catalog.draw(SPEC, 1, 0, catalog.overrides(SPEC, ["blocks=3"])).text


def rows() -> Iterator[tuple[str, str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for line in text.partition("| to add |")[2].splitlines()[2:]:
        if not line.startswith("|"):
            return
        thing, _, place = (cell.strip() for cell in line.strip("|").split("|"))
        yield thing, place


def test_the_table_names_the_registry_of_each_thing() -> None:
    places = {thing: re.findall(r"`([^`]+)`", place) for thing, place in rows()}
    assert places["a domain"] == []
    assert places["a search method"] == ["src/oclgen/search/__init__.py::METHODS"]
    assert places["a classical planner"] == ["src/oclgen/classical/planners.py::ENTRIES"]
    assert places["an encoding"] == ["src/oclgen/encoding/kinds.py::ENCODINGS"]
    assert places["a verb"] == ["src/oclgen/cli/__init__.py::VERBS"]


def test_a_domain_is_one_folder(tmp_path: Path) -> None:
    shutil.copytree(SPEC.path, tmp_path / "harbour")
    spec = catalog.load(tmp_path / "harbour")
    assert catalog.draw(spec, 0, 0).name.startswith("harbour-")
    assert spec.picture is not None and spec.defaults.demo


def test_no_code_outside_its_folder_names_a_domain() -> None:
    source, domains = ROOT / "src" / "oclgen", set(catalog.names())
    for path in source.rglob("*.py"):
        words = {getattr(node, "value", None) for node in ast.walk(ast.parse(path.read_text()))}
        texts = {word for word in words if isinstance(word, str)}
        assert path.is_relative_to(source / "domains") or not texts & domains, path


@dataclass(frozen=True, slots=True)
class LazySettings(Settings):
    """Settings of a method that exists only here."""

    patience: int = 3


def lazy_search(*_: object) -> Search:
    yield from ()
    return Ending.INCOMPLETE


def test_a_search_method_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(search.METHODS, "lazy", search.Method(lazy_search, LazySettings()))
    monkeypatch.setattr(planner, "METHODS", (*planner.METHODS, "lazy"))
    model = write_random_model(tmp_path / "model", "blocksworld")
    prepared = planner.prepare(SPEC.domain_text, PROBLEM, method="lazy", model=model, settings={"patience": 5})
    assert prepared.settings["patience"] == 5
    result = planner.solve(SPEC.domain_text, PROBLEM, method="lazy", model=model)
    assert (result.plan, result.ending) == (None, Ending.INCOMPLETE)


def test_a_classical_planner_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = replace(planners.PLANNERS["lama-first"], name="greedy")  # type: ignore[type-var]
    assert copy == FastDownward("greedy", LAMA_FIRST)
    monkeypatch.setitem(planners.PLANNERS, "greedy", copy)
    monkeypatch.setattr(planner, "METHODS", (*planner.METHODS, "greedy"))
    assert planner.solve(SPEC.domain_text, PROBLEM, method="greedy", time_limit=60).plan


def test_every_registered_method_is_offered_by_the_command_line() -> None:
    assert set(planner.METHODS) == {*search.METHODS, *planners.PLANNERS}
    [method] = [each for each in solve_command.params if each.name == "method"]
    shown = set(re.findall(r"[\w-]+", getattr(method, "help", "")))
    assert set(planner.METHODS) <= shown
    [teacher] = [each for each in data_command.params if each.name == "teacher"]
    assert set(planners.TEACHERS) <= set(getattr(teacher.type, "choices", ()))


@pytest.mark.parametrize("verb", cli.VERBS)
def test_a_verb_is_a_file_with_a_command(verb: str) -> None:
    assert cli.cli.get_command(None, verb) is not None  # type: ignore[arg-type]


def test_every_file_of_the_command_line_is_a_listed_verb() -> None:
    files = {(path.parent.name, path.stem) for path in (ROOT / "src" / "oclgen" / "cli").glob("*/*.py")}
    listed = {(room, verb) for verb, (room, _) in cli.VERBS.items()}
    assert {(room, name) for room, name in files if name != "__init__"} == listed
