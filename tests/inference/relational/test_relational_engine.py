"""The relational engine against plain numpy; odd sizes; results that depend neither on the batch nor on threads."""

from typing import Any

import numpy as np
import pytest

from oclgen.inference.kernel.binding import variants
from oclgen.inference.relational.engine import RelationalEngine, Rows
from oclgen.inference.relational.weights import SchemaCounts
from tests.inference.relational.relational_reference import (
    COUNTS,
    Problem,
    Reference,
    Shape,
    random_atoms,
    random_problem,
    random_weights,
)

SHAPES = (
    Shape(),
    Shape(width=128, heads=4, inner=512, relation=64, encoder_layers=4),
    Shape(width=20, heads=2, inner=13, relation=7, encoder_layers=3, decoder_layers=1, distances=False),
    Shape(width=33, heads=3, inner=50, relation=33, distances=True),
)


def engine_of(shape: Shape, variant: str | None = None, threads: int = 1) -> RelationalEngine:
    return RelationalEngine(shape, COUNTS, random_weights(shape), variant, threads)


def random_states(seed: int, sizes: tuple[int, ...]) -> list[tuple[Problem, Any]]:
    rng = np.random.default_rng(seed)
    return [(random_problem(rng, rows), random_atoms(rng, rows)) for rows in sizes]


def random_tokens(rng: np.random.Generator, objects: int, length: int) -> list[int]:
    """Tokens of actions, the last one cut off anywhere."""
    tokens: list[int] = []
    while len(tokens) < length:
        operator = int(rng.integers(len(COUNTS.operators)))
        arguments = rng.integers(0, objects, COUNTS.operators[operator]) + len(COUNTS.operators) + 1
        tokens += [operator, *arguments.tolist()]
    return tokens[:length]


def final(rows: Rows, shape: Shape) -> Any:
    return rows.final[:, : shape.width]


@pytest.mark.parametrize("variant", variants())
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"width {shape.width}")
def test_rows_and_costs_are_those_of_the_mathematics(variant: str, shape: Shape) -> None:
    reference, engine = Reference(shape, random_weights(shape)), engine_of(shape, variant)
    states = random_states(1, (2, 3, 7, 15, 16, 17, 26, 40))
    encoded = engine.encode_all(states)
    costs = engine.costs(encoded)
    for (problem, atoms), rows, cost in zip(states, encoded, costs, strict=True):
        expected = reference.encode(problem, atoms)
        assert np.abs(final(rows, shape) - expected).max() < 1e-4
        assert np.allclose(cost, reference.cost(expected), rtol=1e-4)


@pytest.mark.parametrize("variant", variants())
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"width {shape.width}")
def test_plans_are_scored_as_the_mathematics_says(variant: str, shape: Shape) -> None:
    reference, engine = Reference(shape, random_weights(shape)), engine_of(shape, variant)
    rng = np.random.default_rng(2)
    for size in (2, 9, 17, 33):
        states = random_states(size, (size, size))
        encoded = engine.encode_all(states)
        finals = [reference.encode(*state) for state in states]
        session = engine.open(encoded, [2, 1], 20)
        assert session.vocabulary == len(COUNTS.operators) + size
        plans = [random_tokens(rng, size - 1, 20) for _ in range(3)]
        for length in range(21):
            actual = session.probabilities()
            for plan, owner, row in zip(plans, (0, 0, 1), actual, strict=True):
                assert np.abs(row - reference.next_token(finals[owner], plan[:length])).max() < 1e-4
            if length < 20:
                session.feed(np.array([plan[length] for plan in plans], np.int32))


def test_several_tokens_at_once_are_as_one_after_the_other() -> None:
    engine, rng = engine_of(Shape()), np.random.default_rng(3)
    [rows] = engine.encode_all(random_states(3, (11,)))
    plans = [random_tokens(rng, 10, length) for length in (1, 5, 12)]
    together = engine.open([rows], [3], 12)
    together.feed(np.concatenate(plans).astype(np.int32), np.array([1, 5, 12], np.int32))
    for plan, row in zip(plans, together.probabilities(), strict=True):
        session = engine.open([rows], [1], 12)
        for token in plan:
            session.feed(np.array([token], np.int32))
        assert np.array_equal(session.probabilities()[0], row)


def test_kept_rows_go_on_where_they_were() -> None:
    engine, rng = engine_of(Shape()), np.random.default_rng(4)
    encoded = [engine.encode_all(random_states(4, (9,)))[0], engine.encode_all(random_states(5, (9,)))[0]]
    session = engine.open(encoded, [2, 2], 8)
    plans = np.array([random_tokens(rng, 8, 8) for _ in range(4)], np.int32)
    for step in range(4):
        session.feed(np.ascontiguousarray(plans[:, step]))
    kept = np.array([1, 3, 3], np.int32)
    before = session.probabilities()[kept]
    session.keep(kept)
    assert np.array_equal(session.probabilities(), before)
    session.feed(np.ascontiguousarray(plans[kept, 4]))
    for row, owner in zip((0, 1, 2), (0, 1, 1), strict=True):
        alone = engine.open([encoded[owner]], [1], 8)
        alone.feed(np.ascontiguousarray(plans[kept[row], :5]), np.array([5], np.int32))
        assert np.array_equal(alone.probabilities()[0], session.probabilities()[row])


def test_sampling_is_restricted_to_what_is_due_and_allowed() -> None:
    engine, rng = engine_of(Shape()), np.random.default_rng(5)
    [rows] = engine.encode_all(random_states(6, (12,)))
    session = engine.open([rows], [50], 6)
    allowed = np.zeros((50, session.vocabulary), np.bool_)
    allowed[:, [0, 2, 6, 9]] = True
    tokens, chosen = session.sample(rng.random(50, np.float32), 1.0, allowed)
    assert set(tokens.tolist()) == {0, 2}
    assert np.allclose(chosen, session.probabilities(allowed)[np.arange(50), tokens])
    session.feed(tokens)
    probabilities = session.probabilities(allowed)
    assert (probabilities[:, [6, 9]] > 0.0).all()
    assert np.allclose(probabilities[:, [6, 9]].sum(1), 1.0)


def test_a_token_out_of_place_is_refused() -> None:
    engine = engine_of(Shape())
    [rows] = engine.encode_all(random_states(7, (4,)))
    for tokens in ([4], [0, 1], [0, 4, 7], [1] * 17):  # an object, an operator, no such object, too many
        with pytest.raises(ValueError, match="cannot stand"):
            engine.open([rows], [1], 8).feed(np.array(tokens, np.int32), np.array([len(tokens)], np.int32))


@pytest.mark.parametrize("variant", variants())
def test_a_state_depends_neither_on_its_batch_nor_on_threads(variant: str) -> None:
    shape = Shape(width=64, heads=4)
    states = random_states(8, (*range(2, 40), 300, 5))
    engine = engine_of(shape, variant)
    alone = [engine.encode_all([state])[0] for state in states]
    costs = engine.costs(alone)
    for threads in (1, 3):
        engine = engine_of(shape, variant, threads)
        together = engine.encode_all(states)
        for one, other in zip(alone, together, strict=True):
            assert np.array_equal(one.final, other.final)
        assert np.array_equal(engine.costs(together), costs)


@pytest.mark.parametrize("variant", variants())
def test_a_plan_depends_neither_on_its_batch_nor_on_threads(variant: str) -> None:
    rng = np.random.default_rng(9)
    states = random_states(9, (21, 21))
    plan = random_tokens(rng, 20, 30)

    def last_row(count: int, threads: int) -> bytes:
        engine = engine_of(Shape(width=64, heads=4), variant, threads)
        session = engine.open(engine.encode_all(states), [count - 1, count], 30)
        others = [random_tokens(rng, 20, 30) for _ in range(2 * count - 2)]
        for tokens in zip(*others, plan, strict=True):
            session.feed(np.array(tokens, np.int32))
        return bytes(session.probabilities()[-1].tobytes())

    assert {last_row(count, threads) for count in range(1, 14) for threads in (1, 2)} == {last_row(1, 1)}


def test_a_domain_without_relations_or_arguments() -> None:
    counts, shape = SchemaCounts((), (0,), 1), Shape(distances=False)
    weights = random_weights(shape, counts)
    reference, engine = Reference(shape, weights, counts), RelationalEngine(shape, counts, weights)
    problem = random_problem(np.random.default_rng(0), 2, counts)
    [rows] = engine.encode(problem, [[]])
    expected = reference.encode(problem, [])
    assert np.abs(final(rows, shape) - expected).max() < 1e-4
    assert np.abs(engine.open([rows], [1], 1).probabilities()[0] - reference.next_token(expected, [])).max() < 1e-4


def test_no_states_have_no_rows() -> None:
    engine = engine_of(Shape())
    assert engine.encode_all([]) == []
    assert engine.costs([]).shape == (0, 2)


def test_a_row_that_is_not_there_is_refused() -> None:
    engine, rng = engine_of(Shape()), np.random.default_rng(0)
    atoms = random_atoms(rng, 5)
    atoms[1] = np.array([[0, 5]], np.int32)
    with pytest.raises(ValueError, match="not there"):
        engine.encode(random_problem(rng, 5), [atoms])
