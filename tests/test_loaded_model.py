"""A `LoadedModel` reads its checkpoints once, however many solves share it, and a problem is parsed once per solve."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oclgen import checkpoint, planner, solve
from oclgen.domains import catalog
from oclgen.errors import InputError
from oclgen.loaded_model import LoadedModel, ModelUse, load_model
from oclgen.pddl.reading import problem, source
from tests.model_folder import write_random_model

SPEC = catalog.load("blocksworld")
APPLICABLE = {"decoding": "applicable"}


def blocks(count: int, index: int = 0) -> str:
    return catalog.draw(SPEC, 3, index, catalog.overrides(SPEC, [f"blocks={count}"])).text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_random_model(tmp_path / "model", "blocksworld")


def counting(calls: Counter[str], function: Callable[..., Any]) -> Callable[..., Any]:
    def counted(first: Any, *rest: Any) -> Any:
        calls[Path(getattr(first, "name", first)).name] += 1
        return function(first, *rest)

    return counted


@pytest.mark.parametrize("load", [LoadedModel, Path], ids=["loaded", "folder"])
def test_many_solves_read_the_weights_of_a_model_once(
    load: Callable[[Path], LoadedModel | Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()
    monkeypatch.setattr(checkpoint, "load_checkpoint", counting(calls, checkpoint.load_checkpoint))
    model = load(folder)
    for index in range(3):
        solve(SPEC.domain_text, blocks(3, index), model=model, iterations=3, settings=APPLICABLE)
    assert calls == {"policy": 1, "heuristic": 1}


def test_a_solve_reads_its_problem_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    monkeypatch.setattr(problem, "read_definition", counting(calls, source.read_definition))
    assert solve(SPEC.domain_text, blocks(3, 2), model=folder, iterations=60, settings=APPLICABLE).plan
    assert calls == {"<problem>": 1}


def test_solves_that_share_a_model_find_what_they_find_alone(folder: Path) -> None:
    shared = LoadedModel(folder)
    for index in range(3):
        together, alone = (
            solve(SPEC.domain_text, blocks(5, index), model=model, time_limit=None, iterations=4)
            for model in (shared, LoadedModel(folder))
        )
        assert (together.plan, together.counters) == (alone.plan, alone.counters)


def test_only_the_checkpoints_that_a_method_needs_are_read(folder: Path) -> None:
    (folder / "heuristic" / "weights.safetensors").unlink()
    model = LoadedModel(folder)
    assert model.policy(ModelUse()).tokens == 0
    with pytest.raises(InputError, match=r"weights\.safetensors"):
        model.heuristic(ModelUse())


def test_a_folder_whose_files_have_changed_is_loaded_anew(folder: Path) -> None:
    model = load_model(folder)
    assert load_model(folder) is model
    weights = folder / "policy" / "weights.safetensors"
    copy = weights.with_name("copy")
    copy.write_bytes(weights.read_bytes())
    copy.replace(weights)
    assert load_model(folder) is not model


def test_the_record_of_a_solve_names_the_folder_of_its_model(folder: Path) -> None:
    prepared = planner.prepare(SPEC.domain_text, blocks(3), model=LoadedModel(folder))
    assert prepared.model is not None and prepared.model.folder == folder


def test_a_decoding_that_is_asked_for_stays(folder: Path) -> None:
    prepared = planner.prepare(SPEC.domain_text, blocks(3), model=folder, settings={"decoding": "viable"})
    assert prepared.settings["decoding"] == "viable"
