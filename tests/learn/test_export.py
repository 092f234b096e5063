"""Writing checkpoints and run states: whole or not at all, and readable without torch."""

import json
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
import torch

from oclgen.checkpoint import ModelSettings, load_checkpoint
from oclgen.encoding.vocabulary import Pool, Symbol, Vocabulary
from oclgen.errors import InputError
from oclgen.learn.export import Origin, export, load_state, load_weights, network_weights, save_state, ship
from oclgen.learn.networks.words import HeuristicNetwork, PolicyNetwork

VOCABULARY = Vocabulary(
    domain="toy",
    operators=(Symbol("go", 2),),
    predicates=(Symbol("at", 1), Symbol("link", 2, static=True)),
    constants=("home",),
    pools=(Pool(("object",), ("a", "b", "c"), meaningful=False),),
    left_out=(),
)
ORIGIN = Origin(VOCABULARY, "(define (domain toy))", {"source": "toy"})


def shape(kind: str) -> ModelSettings:
    max_plan, max_cost = (7, 0) if kind == "policy" else (0, 5)
    return ModelSettings(kind, "words", 2, 2, 8, 16, max_prompt=10, max_plan=max_plan, max_cost=max_cost)


def write(folder: Path, kind: str) -> torch.nn.Module:
    network = (PolicyNetwork if kind == "policy" else HeuristicNetwork)(shape(kind), VOCABULARY)
    export(folder, shape(kind), network_weights(network), ORIGIN, {"loss": 1.5})
    return network


@pytest.mark.parametrize("kind", ["policy", "heuristic"])
def test_a_checkpoint_reads_back_what_was_written(tmp_path: Path, kind: str) -> None:
    network = write(tmp_path / "model", kind)
    checkpoint = load_checkpoint(tmp_path / "model", kind)
    for name, value in network.state_dict().items():
        np.testing.assert_array_equal(checkpoint.weights[name], value.numpy())
    table = json.loads((tmp_path / "model" / "settings.json").read_text())
    assert table["versions"]["torch"] and table["revision"]
    assert Vocabulary.from_json((tmp_path / "model" / "vocabulary.json").read_text()) == VOCABULARY
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_exporting_again_replaces_the_whole_folder(tmp_path: Path) -> None:
    write(tmp_path / "model", "policy")
    (tmp_path / "model" / "stray").write_text("")
    write(tmp_path / "model", "heuristic")
    assert load_checkpoint(tmp_path / "model").settings.kind == "heuristic"
    assert not (tmp_path / "model" / "stray").exists()


def test_a_shipped_copy_is_half_the_size_and_nearly_equal(tmp_path: Path) -> None:
    write(tmp_path / "model", "policy")
    ship(tmp_path / "model", tmp_path / "shipped")
    full, half = load_checkpoint(tmp_path / "model"), load_checkpoint(tmp_path / "shipped")
    for name, value in full.weights.items():
        np.testing.assert_allclose(half.weights[name], value, rtol=1e-3, atol=1e-4)
    sizes = [(tmp_path / name / "weights.safetensors").stat().st_size for name in ("model", "shipped")]
    assert sizes[1] < 0.7 * sizes[0]
    assert json.loads((tmp_path / "shipped" / "metrics.json").read_text()) == {"loss": 1.5}


def test_a_shipped_copy_tells_the_revision_that_trained_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "model", "policy")
    trained = load_checkpoint(tmp_path / "model").settings.revision
    monkeypatch.setattr("oclgen.learn.export.revision", lambda: "a later one")
    ship(tmp_path / "model", tmp_path / "shipped")
    assert load_checkpoint(tmp_path / "shipped").settings.revision == trained != "a later one"


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    network = write(tmp_path / "model", "policy")
    with pytest.raises(InputError, match="another shape"):
        load_weights(network, tmp_path / "model", ModelSettings("policy", "words", 3, 2, 8, 16, 10, 7))


def test_weights_of_the_other_kind_are_refused(tmp_path: Path) -> None:
    network = write(tmp_path / "model", "policy")
    with pytest.raises(InputError, match="this is a policy, a heuristic is needed"):
        load_weights(network, tmp_path / "model", shape("heuristic"))


def test_a_network_can_start_from_a_checkpoint_of_its_kind(tmp_path: Path) -> None:
    written = write(tmp_path / "model", "policy").state_dict()
    torch.manual_seed(5)
    network = PolicyNetwork(shape("policy"), VOCABULARY)
    assert not all(torch.equal(network.state_dict()[name], value) for name, value in written.items())
    load_weights(network, tmp_path / "model", shape("policy"))
    assert all(torch.equal(network.state_dict()[name], value) for name, value in written.items())


def test_a_state_survives_a_crash_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.pt"
    save_state(path, {"step": 1})

    def crash(_state: object, target: BinaryIO) -> None:
        target.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", crash)
    with pytest.raises(KeyboardInterrupt):
        save_state(path, {"step": 2})
    assert load_state(path) == {"step": 1}


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 cut short"])
def test_a_broken_state_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.pt").write_bytes(content)
    with pytest.raises(InputError, match=r"state.pt: cannot be read"):
        load_state(tmp_path / "state.pt")


def test_a_missing_state_says_that_there_is_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run to resume here"):
        load_state(tmp_path / "state.pt")
