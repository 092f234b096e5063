"""Reading relational checkpoints: what was written comes back; whatever is broken is refused in one line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oclgen.errors import OclgenError
from oclgen.relational_checkpoint import load_relational
from tests.pddl.samples import DELIVERY
from tests.relational_folder import SIZES, write_relational_checkpoint


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_relational_checkpoint(tmp_path / "model", DELIVERY)


def change_settings(folder: Path, **changes: Any) -> None:
    path = folder / "settings.json"
    values = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))


def refusal(folder: Path) -> str:
    with pytest.raises(OclgenError) as caught:
        load_relational(folder)
    [line] = str(caught.value).splitlines()
    assert str(folder) in line
    return line


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_what_was_written_comes_back_as_float32(tmp_path: Path, dtype: Any) -> None:
    model = load_relational(write_relational_checkpoint(tmp_path / "model", DELIVERY, dtype))
    written = load_file(tmp_path / "model" / "weights.safetensors")
    assert model.weights.keys() == written.keys()
    for name, values in model.weights.items():
        assert values.dtype == np.float32 and np.array_equal(values, written[name].astype(np.float32))
    assert {name: getattr(model.settings, name) for name in SIZES} == SIZES
    assert model.settings.relations == model.schema.all_relations()
    assert model.domain_text == DELIVERY


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "another version"),
        ({"kind": "policy"}, "this is a policy, a relational model is needed"),
        ({"width": 0}, "width is 0, must be a positive integer"),
        ({"width": "16"}, "width is '16', must be a positive integer"),
        ({"heads": 3}, "width 16 is not a multiple of heads 3"),
        ({"max_plan": None, "relation": None}, "missing relation, max_plan"),
        ({"relations": None}, "missing relations"),
        ({"relations": [["at"]]}, "settings.json"),
        ({"relations": 3}, "settings.json"),
        ({"relations": [["flies", 0]]}, r"relation ['flies', 0] is not one of domain delivery"),
        ({"relations": [["at", 5]]}, r"relation ['at', 5] is not one of domain delivery"),
        ({"relations": [["at", 0], ["at", 0]]}, r"relation ['at', 0] is given twice"),
        ({"relations": [["at", 0]]}, "weights.safetensors"),
        ({"distances": "far"}, "distances is 'far', must be true or false"),
        ({"distances": False}, "unknown tensor distance.weight"),
        ({"decoder_layers": 2}, "decoder.block.1.norm1.weight is missing"),
        ({"inner": 31}, "block.0.up.weight is 32x16"),
        ({"max_plan": 61}, "position.weight is 60x16"),
    ],
)
def test_settings_that_do_not_fit_are_refused(folder: Path, changes: dict[str, Any], words: str) -> None:
    change_settings(folder, **changes)
    assert words in refusal(folder)


@pytest.mark.parametrize("name", ["settings.json", "domain.pddl", "weights.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert name in refusal(folder)


@pytest.mark.parametrize("name", ["settings.json", "domain.pddl", "weights.safetensors"])
def test_a_file_of_nonsense_is_named(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\xff{[(nonsense")
    assert name in refusal(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "no such checkpoint folder" in refusal(tmp_path / "nowhere")


def test_weights_for_another_domain_are_refused(folder: Path) -> None:
    (folder / "domain.pddl").write_text(DELIVERY.replace("(stamped ?l - letter)", "(stamped ?l ?m - letter)"))
    assert "relation." in refusal(folder)


def test_weights_that_are_not_numbers_are_refused(folder: Path) -> None:
    weights = load_file(folder / "weights.safetensors")
    weights["cost_out.bias"][1] = np.inf
    save_file(weights, folder / "weights.safetensors")
    assert "cost_out.bias holds values that are not numbers" in refusal(folder)
