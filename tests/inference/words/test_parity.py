"""Both engines give the probabilities of an independent float64 implementation, for odd shapes and batches too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oclgen.checkpoint import Checkpoint
from oclgen.inference.engine import HeuristicEngine, PolicyEngine
from oclgen.inference.kernel.binding import variants
from oclgen.inference.words.heuristic_engine import NativeHeuristicEngine
from oclgen.inference.words.policy_engine import NativePolicyEngine
from oclgen.learn.engines.words import TorchHeuristicEngine, TorchPolicyEngine
from tests.inference.words.models import VOCABULARY, random_checkpoint, random_prompt
from tests.inference.words.reference import Reference

TOLERANCE = 2e-5
SHAPES: list[dict[str, Any]] = [
    {"width": 32, "heads": 2, "inner": 64},
    {"width": 20, "heads": 2, "inner": 13},
    {"width": 48, "heads": 3, "inner": 100, "layers": 1},
    {"width": 7, "heads": 7, "inner": 1},
    {"width": 96, "heads": 1, "inner": 50},
]
POLICY_ENGINES: dict[str, Callable[[Checkpoint], PolicyEngine]] = {
    "torch": lambda checkpoint: TorchPolicyEngine(checkpoint, "cpu"),
    **{name: lambda checkpoint, name=name: NativePolicyEngine(checkpoint, name) for name in variants()},  # type: ignore[misc]
}
HEURISTIC_ENGINES: dict[str, Callable[[Checkpoint], HeuristicEngine]] = {
    "torch": lambda checkpoint: TorchHeuristicEngine(checkpoint, "cpu"),
    **{name: lambda checkpoint, name=name: NativeHeuristicEngine(checkpoint, name) for name in variants()},  # type: ignore[misc]
}


@pytest.mark.parametrize("engine", POLICY_ENGINES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_policy_probabilities_equal_the_reference(shape: dict[str, Any], engine: str) -> None:
    rng = np.random.default_rng(1)
    checkpoint = random_checkpoint("policy", **shape)
    prompts = [random_prompt(rng, length) for length in (1, 15, 16, 33)]
    rows = [1, 3, 0, 9]
    plans = rng.integers(0, VOCABULARY.size, (sum(rows), 35), np.int32)
    session = POLICY_ENGINES[engine](checkpoint).open(prompts, rows, 35)
    steps = [session.probabilities()]
    for tokens in plans.T:
        session.feed(np.ascontiguousarray(tokens))
        steps.append(session.probabilities())
    reference = Reference(checkpoint)
    owners = np.repeat(np.arange(len(prompts)), rows)
    expected = [reference.policy(prompts[owner], plan) for owner, plan in zip(owners, plans, strict=True)]
    assert np.abs(np.stack(steps, 1) - expected).max() < TOLERANCE


@pytest.mark.parametrize("engine", HEURISTIC_ENGINES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_heuristic_distributions_equal_the_reference(shape: dict[str, Any], engine: str) -> None:
    rng = np.random.default_rng(2)
    checkpoint = random_checkpoint("heuristic", **shape)
    prompts = [random_prompt(rng, length) for length in (1, 2, 15, 16, 17, 60)]
    reference = Reference(checkpoint)
    expected = [reference.heuristic(prompt) for prompt in prompts]
    actual = HEURISTIC_ENGINES[engine](checkpoint).distributions(prompts)
    assert np.abs(actual - expected).max() < TOLERANCE


@pytest.mark.parametrize("engine", POLICY_ENGINES)
def test_rows_that_are_kept_or_branch_go_on_where_they_were(engine: str) -> None:
    rng = np.random.default_rng(3)
    checkpoint = random_checkpoint("policy")
    prompt = random_prompt(rng, 20)
    session = POLICY_ENGINES[engine](checkpoint).open([prompt], [4], 10)
    session.feed(np.array([1, 2, 3, 4], np.int32))
    session.keep(np.array([1, 3], np.int32))
    session.feed(np.array([5, 6], np.int32))
    session.keep(np.array([0, 0, 1], np.int32))
    session.feed(np.array([7, 8, 9], np.int32))
    session.keep(np.array([0, 2], np.int32))
    reference = Reference(checkpoint)
    expected = [reference.policy(prompt, np.array(plan, np.int32))[-1] for plan in ([2, 5, 7], [4, 6, 9])]
    assert np.abs(session.probabilities() - expected).max() < TOLERANCE


@pytest.mark.parametrize("engine", POLICY_ENGINES)
def test_pieces_of_any_length_are_as_good_as_single_tokens(engine: str) -> None:
    rng = np.random.default_rng(8)
    checkpoint = random_checkpoint("policy")
    prompts = [random_prompt(rng, length) for length in (3, 20)]
    session = POLICY_ENGINES[engine](checkpoint).open(prompts, [2, 3], 30)
    plans: list[list[int]] = [[] for _ in range(5)]
    owners = [0, 0, 1, 1, 1]
    reference = Reference(checkpoint)
    for counts in ([1, 1, 1, 1, 1], [7, 1, 3, 9, 2], [1, 12, 1, 1, 5], [20, 1, 2, 1, 1]):
        pieces = [rng.integers(0, VOCABULARY.size, count, np.int32) for count in counts]
        session.feed(np.concatenate(pieces), np.array(counts, np.int32))
        for plan, piece in zip(plans, pieces, strict=True):
            plan.extend(piece.tolist())
        pairs = zip(owners, plans, strict=True)
        expected = [reference.policy(prompts[owner], np.array(plan, np.int32))[-1] for owner, plan in pairs]
        assert np.abs(session.probabilities() - expected).max() < TOLERANCE
        session.keep(np.arange(5, dtype=np.int32))


@pytest.mark.parametrize("engine", POLICY_ENGINES)
def test_allowed_tokens_share_all_the_probability(engine: str) -> None:
    rng = np.random.default_rng(4)
    checkpoint = random_checkpoint("policy")
    session = POLICY_ENGINES[engine](checkpoint).open([random_prompt(rng, 5)], [3], 1)
    free = session.probabilities()
    allowed = rng.random(free.shape) < 0.2
    allowed[:, 0] = True
    allowed[2] = False
    allowed[2, 7] = True
    expected = np.where(allowed, free, 0.0)
    expected /= expected.sum(axis=1, keepdims=True)
    restricted = session.probabilities(allowed)
    assert np.abs(restricted - expected).max() < TOLERANCE
    assert (restricted[~allowed] == 0.0).all()
    assert np.array_equal(session.probabilities(), free), "a restriction must not outlive its call"


@pytest.mark.parametrize("engine", POLICY_ENGINES)
@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_samples_follow_the_distribution_at_their_temperature(engine: str, temperature: float) -> None:
    rng = np.random.default_rng(5)
    draws = 4000
    checkpoint = random_checkpoint("policy", seed=3)
    session = POLICY_ENGINES[engine](checkpoint).open([random_prompt(rng, 5)], [draws], 0)
    probabilities = session.probabilities()[0].astype(np.float64)
    tokens, chosen = session.sample(rng.random(draws, np.float32), temperature)
    assert np.allclose(chosen, probabilities[tokens], atol=1e-6), "the probability told is that at temperature 1"
    tempered = probabilities ** (1.0 / temperature)
    counts = np.bincount(tokens, minlength=len(tempered)) / draws
    assert np.abs(counts - tempered / tempered.sum()).max() < 0.04


@pytest.mark.parametrize("engine", POLICY_ENGINES)
def test_temperature_zero_takes_the_most_likely_token(engine: str) -> None:
    rng = np.random.default_rng(6)
    checkpoint = random_checkpoint("policy")
    session = POLICY_ENGINES[engine](checkpoint).open([random_prompt(rng, 5)], [2], 0)
    tokens, _ = session.sample(np.array([0.0, 0.99], np.float32), 0.0)
    assert (tokens == session.probabilities().argmax(axis=1)).all()


@pytest.mark.parametrize("engine", POLICY_ENGINES)
def test_the_ends_of_the_unit_interval_give_possible_tokens(engine: str) -> None:
    rng = np.random.default_rng(7)
    checkpoint = random_checkpoint("policy")
    session = POLICY_ENGINES[engine](checkpoint).open([random_prompt(rng, 5)], [2], 0)
    allowed = np.zeros((2, VOCABULARY.size), np.bool_)
    allowed[:, [3, 9]] = True
    tokens, _ = session.sample(np.array([0.0, np.nextafter(np.float32(1), np.float32(0))], np.float32), 1.0, allowed)
    assert tokens.tolist() == [3, 9]
