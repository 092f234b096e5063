"""Schedules as numbers; Muon's update as an orthogonal matrix."""

import math

import pytest
import torch

from oclgen.learn.optim import Muon, make_optimizers, orthogonalised, rate, set_rates
from oclgen.learn.settings import Optimizer, Schedule


def test_the_rate_warms_up_linearly() -> None:
    schedule = Schedule("constant", warmup=4, steps=100)
    assert [rate(schedule, step, 100) for step in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_a_cosine_falls_to_zero() -> None:
    schedule = Schedule("cosine", warmup=10, steps=110)
    assert rate(schedule, 10, 110) == 1.0
    assert rate(schedule, 60, 110) == pytest.approx(0.5)
    assert rate(schedule, 109, 110) == pytest.approx(0.5 * (1 + math.cos(math.pi * 0.99)))


def test_a_trapezoid_stays_up_until_its_decay() -> None:
    schedule = Schedule("trapezoid", warmup=5, decay=0.4, steps=100)
    shares = [rate(schedule, step, 100) for step in range(100)]
    assert shares[4:61] == [1.0] * 57
    assert shares[80] == pytest.approx(0.5)
    assert shares[99] == pytest.approx(1 / 40)


def test_an_undecided_length_means_no_decay() -> None:
    assert rate(Schedule("trapezoid", time="1h"), 10**6, None) == 1.0


def test_rates_scale_every_group_from_its_full_rate() -> None:
    network = torch.nn.ModuleDict({"block": torch.nn.Linear(4, 4), "head": torch.nn.Linear(4, 2)})
    network = torch.nn.ModuleDict({"x": network})
    optimizers = make_optimizers(network, Optimizer("muon", lr=0.5, hidden_lr=2.0))
    for share in (0.5, 0.1):
        set_rates(optimizers, share)
        rates = {group["lr"] for optimizer in optimizers for group in optimizer.param_groups}
        assert rates == {0.5 * share, 2.0 * share}


@pytest.mark.parametrize("rows", [8, 20])
def test_orthogonalising_evens_out_the_singular_values(rows: int) -> None:
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonalised(torch.randn(3, rows, 20)))
    assert values.min() > 0.3 and values.max() < 1.3


def test_muon_treats_stacked_square_matrices_one_by_one() -> None:
    torch.manual_seed(0)
    gradient = torch.randn(12, 4)
    gradient[:4] *= 1000
    stacked = torch.nn.Parameter(torch.zeros(12, 4))
    single = torch.nn.Parameter(torch.zeros(4, 4))
    stacked.grad, single.grad = gradient.clone(), gradient[8:].clone()
    for parameter in (stacked, single):
        Muon([parameter], lr=0.1, momentum=0.9, weight_decay=0.0).step()
    torch.testing.assert_close(stacked[8:], single, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_the_optimizers_learn_a_linear_map(name: str) -> None:
    torch.manual_seed(0)
    network = torch.nn.ModuleDict({"block": torch.nn.ModuleDict({"0": torch.nn.Linear(6, 6)})})
    layer = network["block"]["0"]  # type: ignore[index]
    wanted = torch.randn(6, 6)
    inputs = torch.randn(64, 6)
    optimizers = make_optimizers(network, Optimizer(name, lr=0.05, hidden_lr=0.05))
    losses = []
    for step in range(150):
        set_rates(optimizers, rate(Schedule("trapezoid", steps=150), step, 150))
        loss = (layer(inputs) - inputs @ wanted).square().mean()
        network.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]
