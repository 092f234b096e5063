"""The relational network: nothing but an example's own rows and past counts; checkpoints; a cost that extrapolates."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from oclgen.data.examples.batches import Position
from oclgen.data.examples.relational import RelationalBatchSettings, RelationalExamples
from oclgen.data.examples.relational_store import open_relational_store
from oclgen.domains import catalog
from oclgen.encoding.relational import ProblemGraph, schema_of
from oclgen.errors import InputError
from oclgen.learn.export import Origin, export, load_weights, network_weights, ship
from oclgen.learn.networks.objectives import cost_surprise, measure, to_tensors
from oclgen.learn.networks.relational import RelationalNetwork
from oclgen.pddl.reading.domain import read_domain
from oclgen.relational_checkpoint import RelationalSettings, load_relational
from tests.data.walked_data import walked_dataset
from tests.encoding.test_relational import Problem
from tests.inference.relational.relational_models import random_network, torch_batch

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> RelationalExamples:
    ranges = ["cities=2", "city_size=2", "packages=1..5", "airplanes=1"]
    data = walked_dataset(tmp_path_factory.mktemp("walks") / "data", "logistics", 8, ranges)
    schema = schema_of(read_domain(data.domain_text))
    store = open_relational_store(data, "train")
    limits = RelationalBatchSettings(examples=6, window=3, positions=12)
    return RelationalExamples(store, schema, store.relations(schema), limits, True)


@pytest.fixture(scope="module")
def network(stream: RelationalExamples) -> RelationalNetwork:
    return random_network(stream.schema, relations=stream.relations, distances=True)


def outputs(network: RelationalNetwork, batch: dict[str, Tensor]) -> list[tuple[Tensor, ...]]:
    """For each example its rows, its scores of operators and rows, and its cost, without padding."""
    with torch.inference_mode():
        rows, there = network.encode(batch)
        operators, pointers = network.decode(rows, there, batch["plan"], batch["due"])
        mean, scale = network.cost(rows, there)
    found: list[tuple[Tensor, ...]] = []
    for i, (size, length) in enumerate(zip(batch["prompt_len"].tolist(), batch["plan_len"].tolist(), strict=True)):
        scores = operators[i, :length], pointers[i, :length, : size - 1]
        found.append((rows[i, :size], *scores, mean[i], scale[i]))
    return found


def same(left: tuple[Tensor, ...], right: tuple[Tensor, ...]) -> bool:
    return all(torch.allclose(one, other, atol=1e-5, rtol=1e-5) for one, other in zip(left, right, strict=True))


def test_what_shares_a_batch_changes_nothing(stream: RelationalExamples, network: RelationalNetwork) -> None:
    together = outputs(network, to_tensors(stream.batch(Position(0, 0)), CPU))
    assert len({len(each[0]) for each in together}) > 1
    for i, expected in enumerate(together):
        [alone] = outputs(network, to_tensors(stream.batch(Position(0, 0), i, len(together)), CPU))
        assert same(alone, expected)


def test_padding_changes_nothing(stream: RelationalExamples, network: RelationalNetwork) -> None:
    batch = to_tensors(stream.batch(Position(0, 0)), CPU)
    expected = outputs(network, batch)
    examples, longest = batch["place"].shape
    wider = {name: value.clone() for name, value in batch.items()}
    wider["place"] = torch.nn.functional.pad(batch["place"], (0, 5), value=7)
    wider["back"] = batch["back"] + 5 * (batch["back"] // longest)
    wider["distances"] = torch.nn.functional.pad(batch["distances"], (0, 5, 0, 5), value=3)
    junk = torch.randint(0, 3, (examples, 4), generator=torch.Generator().manual_seed(1))
    wider["plan"], wider["due"] = torch.cat([batch["plan"], junk], 1), torch.cat([batch["due"], 0 * junk], 1)
    for left, right in zip(outputs(network, wider), expected, strict=True):
        assert same(left, right)


def test_later_tokens_change_nothing_before_them(stream: RelationalExamples, network: RelationalNetwork) -> None:
    batch = to_tensors(stream.batch(Position(0, 0)), CPU)
    place = 4
    changed = batch | {"plan": batch["plan"].clone(), "due": batch["due"].clone()}
    changed["plan"][:, place:] = 0
    changed["due"][:, place:] = 0
    with torch.inference_mode():
        rows, there = network.encode(batch)
        before, after = (network.decode(rows, there, each["plan"], each["due"]) for each in (batch, changed))
    for one, other in zip(before, after, strict=True):
        assert torch.allclose(one[:, : place + 1], other[:, : place + 1], atol=1e-6)
        assert not torch.allclose(one[:, place + 1 :], other[:, place + 1 :], atol=1e-3)


def test_the_global_row_and_padding_are_never_pointed_at(
    stream: RelationalExamples, network: RelationalNetwork
) -> None:
    batch = to_tensors(stream.batch(Position(0, 0)), CPU)
    with torch.inference_mode():
        rows, there = network.encode(batch)
        _, pointers = network.decode(rows, there, batch["plan"], batch["due"])
    for size, scores in zip(batch["prompt_len"].tolist(), pointers, strict=True):
        assert torch.isfinite(scores[:, : size - 1]).all()
        assert (scores[:, size - 1 :] == -torch.inf).all()


def test_every_weight_has_a_gradient(stream: RelationalExamples) -> None:
    network = random_network(stream.schema, relations=stream.relations, distances=True)
    for position in range(len(stream.epoch(0).batches)):
        measure(network, to_tensors(stream.batch(Position(0, position)), CPU), 3.0).loss.backward()  # type: ignore[no-untyped-call]
    assert all(value.grad is not None for value in network.parameters())


def test_a_network_without_relations_runs(stream: RelationalExamples) -> None:
    network = random_network(stream.schema, relations=(), distances=False)
    batch = {name: value for name, value in stream.batch(Position(0, 0)).items() if not name.startswith("atoms")}
    assert torch.isfinite(measure(network, to_tensors(batch, CPU), 3.0).loss)


def written(folder: Path, network: RelationalNetwork, stream: RelationalExamples, domain: str) -> Path:
    export(folder, network.settings, network_weights(network), Origin(stream.schema, domain, {}), {"loss": 1.0})
    return folder


def domain_text() -> str:
    return catalog.load("logistics").domain_text


def test_a_checkpoint_is_read_back_and_shipped_as_float16(
    tmp_path: Path, stream: RelationalExamples, network: RelationalNetwork
) -> None:
    folder = written(tmp_path / "model", network, stream, domain_text())
    again = load_relational(folder)
    assert again.settings.relations == stream.relations
    for name, value in network.state_dict().items():
        assert np.array_equal(again.weights[name], value.numpy())
    ship(folder, tmp_path / "shipped")
    shipped = load_relational(tmp_path / "shipped")
    for name, value in network.state_dict().items():
        assert np.array_equal(shipped.weights[name], value.numpy().astype(np.float16).astype(np.float32))
    sizes = [(path / "weights.safetensors").stat().st_size for path in (folder, tmp_path / "shipped")]
    assert sizes[1] < 0.6 * sizes[0]
    assert shipped.settings.revision == again.settings.revision


def test_training_starts_from_the_weights_of_a_checkpoint_of_the_same_shape_only(
    tmp_path: Path, stream: RelationalExamples, network: RelationalNetwork
) -> None:
    folder = written(tmp_path / "model", network, stream, domain_text())
    other = random_network(stream.schema, seed=9, relations=stream.relations, distances=True)
    load_weights(other, folder, other.settings)
    assert all(torch.equal(one, two) for one, two in zip(other.parameters(), network.parameters(), strict=True))
    wider = random_network(stream.schema, relations=stream.relations, distances=True, width=48)
    with pytest.raises(InputError, match="another shape"):
        load_weights(wider, folder, wider.settings)


@pytest.mark.parametrize(("mean", "scale"), [(0.5, 0.3), (20.0, 0.3), (37.4, 5.0), (300.0, 30.0)])
def test_the_likelihood_of_costs_sums_to_one(mean: float, scale: float) -> None:
    costs = torch.arange(-100, 1000, dtype=torch.float64)
    surprise = cost_surprise(costs, torch.tensor(mean, dtype=torch.float64), torch.tensor(scale, dtype=torch.float64))
    assert float(torch.exp(-surprise).sum()) == pytest.approx(1.0, abs=1e-3)
    assert (surprise > -1e-9).all()


def test_far_from_the_mean_the_likelihood_still_pulls() -> None:
    mean = torch.tensor(10.0, requires_grad=True)
    cost_surprise(torch.tensor(400.0), mean, torch.tensor(0.5)).backward()  # type: ignore[no-untyped-call]
    assert mean.grad is not None and float(mean.grad) == pytest.approx(-2.0)


TASKS = """(define (domain chores) (:predicates (done ?x) (heavy ?x))
  (:action do :parameters (?x) :precondition (not (done ?x)) :effect (done ?x)))"""


def chores(settings: RelationalSettings, size: int, seed: int) -> tuple[dict[str, Tensor], Tensor]:
    """Eight states of a problem of this size; a chore costs 1, a heavy one 3, one that is done nothing."""
    rng = random.Random(seed)
    names = [f"x{i}" for i in range(size)]
    heavy = frozenset(("heavy", name) for name in names if rng.random() < 0.5)
    problem = Problem(dict.fromkeys(names, "object"), heavy, (frozenset(("done", name) for name in names), frozenset()))
    graph = ProblemGraph(schema_of(read_domain(TASKS)), settings.relations, problem, False)
    done = [[("done", name) for name in names if rng.random() < 0.5] for _ in range(8)]
    costs = [sum(3 if ("heavy", name) in heavy else 1 for name in names if ("done", name) not in each) for each in done]
    return torch_batch(graph, [graph.atoms(each) for each in done]), torch.tensor(costs, dtype=torch.float32)


def test_a_cost_learned_on_small_problems_extrapolates_to_large_ones() -> None:
    schema = schema_of(read_domain(TASKS))
    torch.manual_seed(0)
    relations = (("heavy", 0), ("done", 1), ("done", 2))
    shape = RelationalSettings(16, 2, 32, 16, encoder_layers=1, decoder_layers=1, max_plan=4, relations=relations)
    network = RelationalNetwork(shape, schema)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(150):
        batch, costs = chores(network.settings, 2 + step % 8, step)
        loss = cost_surprise(costs, *network.cost(*network.encode(batch))).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.inference_mode():
        batch, costs = chores(network.settings, 40, 1000)
        mean, _ = network.cost(*network.encode(batch))
    assert costs.min() > 27  # the most that a problem of nine chores can cost
    assert float(((mean - costs) / costs).abs().mean()) < 0.2
