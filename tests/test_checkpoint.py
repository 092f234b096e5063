"""Reading checkpoints: what safetensors writes is read back exactly; whatever is broken is refused in one line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from oclgen.checkpoint import ModelSettings, load_checkpoint, read_weights, tensor_shapes
from oclgen.encoding.vocabulary import Pool, Symbol, Vocabulary
from oclgen.errors import InputError

SETTINGS: dict[str, Any] = {
    "format": 1,
    "kind": "policy",
    "encoding": "words",
    "layers": 1,
    "heads": 2,
    "width": 8,
    "inner": 16,
    "max_prompt": 10,
    "max_plan": 12,
    "max_cost": None,
    "revision": "abc",
    "versions": {},
}

VOCABULARY = Vocabulary(
    "toy", (Symbol("move", 2),), (Symbol("at", 1),), (), (Pool(("object",), ("a", "b", "c"), False),), ()
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_settings(tmp_path)
    (tmp_path / "vocabulary.json").write_text(VOCABULARY.to_json())
    save_file(random_weights(), tmp_path / "weights.safetensors")
    return tmp_path


def write_settings(folder: Path, **changes: Any) -> None:
    (folder / "settings.json").write_text(json.dumps(SETTINGS | changes))


def random_weights() -> dict[str, Any]:
    settings = ModelSettings("policy", "words", 1, 2, 8, 16, 10, max_plan=12)
    rng = np.random.default_rng(0)
    return {
        name: rng.normal(size=shape).astype(np.float32) for name, shape in tensor_shapes(settings, VOCABULARY).items()
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_reads_what_safetensors_writes_as_float32(tmp_path: Path, dtype: type) -> None:
    rng = np.random.default_rng(1)
    tensors: dict[str, Any] = {"a": rng.normal(size=(3, 5)).astype(dtype), "b.c": rng.normal(size=7).astype(dtype)}
    save_file(tensors, tmp_path / "weights.safetensors", {"made": "here"})
    read = read_weights(tmp_path / "weights.safetensors")
    assert read.keys() == tensors.keys()
    for name, values in tensors.items():
        assert read[name].dtype == np.float32
        assert np.array_equal(read[name], values.astype(np.float32))


def test_loads_a_whole_checkpoint(folder: Path) -> None:
    checkpoint = load_checkpoint(folder, "policy")
    assert checkpoint.settings.max_plan == 12
    assert checkpoint.settings.revision == "abc"
    assert checkpoint.weights["block.0.attention.weight"].shape == (24, 8)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "another version"),
        ({"kind": "oracle"}, "kind is 'oracle'"),
        ({"encoding": "letters"}, "encoding is 'letters', must be words"),
        ({"layers": 0}, "layers is 0"),
        ({"heads": 3}, "width 8 is not a multiple of heads 3"),
        ({"inner": 12}, "block.0.up.weight is 16x8, settings and vocabulary ask for 12x8"),
        ({"layers": 2}, "block.1.norm1.weight is missing"),
        ({"width": None}, "missing"),
        ({"max_plan": 13}, "position.weight is 22x8, settings and vocabulary ask for 23x8"),
        ({"kind": "heuristic", "max_cost": 9}, "a policy is needed"),
    ],
)
def test_settings_that_do_not_fit_are_refused(folder: Path, changes: dict[str, Any], words: str) -> None:
    write_settings(folder, **changes)
    with pytest.raises(InputError, match=words):
        load_checkpoint(folder, "policy")


def test_a_file_cut_short_is_refused(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="cut short"):
        load_checkpoint(folder)


@pytest.mark.parametrize("content", [b"", b"\x01", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0[]", b"\x02\0\0\0\0\0\0\0{]"])
def test_a_file_that_is_not_safetensors_is_refused(folder: Path, content: bytes) -> None:
    (folder / "weights.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"weights\.safetensors"):
        load_checkpoint(folder)


def test_weights_of_another_type_are_refused(folder: Path) -> None:
    save_file(random_weights() | {"norm.bias": np.zeros(8, np.int32)}, folder / "weights.safetensors")
    with pytest.raises(InputError, match=r"tensor norm\.bias is of type int32, must be float32 or float16"):
        load_checkpoint(folder)


def test_weights_that_are_not_numbers_are_refused(folder: Path) -> None:
    weights = random_weights()
    weights["norm.bias"][3] = np.nan
    save_file(weights, folder / "weights.safetensors")
    with pytest.raises(InputError, match=r"norm\.bias holds values that are not numbers"):
        load_checkpoint(folder)


def test_unknown_tensors_are_refused(folder: Path) -> None:
    save_file(random_weights() | {"lora": np.zeros(2, np.float32)}, folder / "weights.safetensors")
    with pytest.raises(InputError, match="unknown tensor lora"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["settings.json", "vocabulary.json", "weights.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        load_checkpoint(folder)


def test_broken_json_is_named_with_its_line(folder: Path) -> None:
    (folder / "settings.json").write_text('{\n"a": }')
    with pytest.raises(InputError, match=r"settings\.json:2"):
        load_checkpoint(folder)


def test_a_broken_vocabulary_is_named(folder: Path) -> None:
    (folder / "vocabulary.json").write_text("{}")
    with pytest.raises(InputError, match=r"vocabulary\.json: broken vocabulary"):
        load_checkpoint(folder)
