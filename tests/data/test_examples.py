"""Training batches: exactly the encoding of each state and plan suffix, deterministic, bounded, shareable."""

import itertools
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from oclgen.data.examples.arrays import join_arrays
from oclgen.data.examples.batches import Batch, Position
from oclgen.data.examples.words import WordsBatchSettings, WordsExamples, canonical_order
from oclgen.data.examples.words_store import WordsStore, encode_instance
from oclgen.encoding import Binding, Vocabulary, WordsEncoding, build_vocabulary
from oclgen.encoding.vocabulary import END, Symbol
from oclgen.errors import InputError
from oclgen.interfaces import Action, Atom
from tests.encoding.worlds import ENCODING, domain

INFO = domain([1, 2, 0, 3], [2], [1, 2])
VOCABULARY = build_vocabulary(INFO, ENCODING)
POLICY = WordsBatchSettings("policy", tokens=300, window=3, seed=5)
HEURISTIC = WordsBatchSettings("heuristic", tokens=300, seed=5)


@dataclass(frozen=True)
class Solved:
    """A made-up solved problem: nothing in a store depends on actions doing what the domain says."""

    objects: dict[str, str]
    goal: tuple[frozenset[Atom], frozenset[Atom]]
    states: list[frozenset[Atom]]
    static_atoms: frozenset[Atom]
    plan: list[Action]


def solved(seed: int) -> Solved:
    rng = random.Random(seed)
    objects = {"n": "object", "c0-1": "cell"} | {f"t{i}": "thing" for i in range(1, rng.randint(2, 5))}

    def ground(names: Sequence[str], arities: dict[str, int], count: int) -> list[tuple[str, ...]]:
        return [(name, *rng.choices(list(objects), k=arities[name])) for name in rng.choices(names, k=count)]

    arities = {name: each.arity for name, each in INFO.predicates.items()}
    changing = [name for name in arities if name not in INFO.static_predicates]
    states = [frozenset(ground(changing, arities, rng.randint(0, 9)))]
    for _ in range(rng.randint(0, 12)):
        states.append(states[-1] ^ frozenset(ground(changing, arities, rng.randint(0, 3))))
    operators = {name: each.arity for name, each in INFO.operators.items()}
    return Solved(
        objects,
        (frozenset(ground(changing, arities, 3)), frozenset(ground(changing, arities, 1))),
        states,
        frozenset(ground(sorted(INFO.static_predicates), arities, 3)),
        ground(list(operators), operators, len(states) - 1),
    )


@cache
def problems() -> list[Solved]:
    return [solved(seed) for seed in range(60)]


@cache
def store() -> WordsStore:
    return join_arrays(
        [
            encode_instance(VOCABULARY, i, each.objects, each.goal, each.states, each.static_atoms, each.plan)
            for i, each in enumerate(problems())
        ]
    )


def examples(settings: WordsBatchSettings) -> WordsExamples:
    return WordsExamples(store(), VOCABULARY, settings)


def renamed(each: Solved, names: np.ndarray, vocabulary: Vocabulary) -> Binding:
    """The binding of a problem whose tokens went through a table of new names."""
    binding = Binding(vocabulary, each.objects)
    shift = vocabulary.first_object - 1
    binding.token = {name: int(names[token - shift]) + shift for name, token in binding.token.items()}
    return binding


def same(left: Batch, right: Batch) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(left[key], right[key]) for key in left)


@pytest.mark.parametrize("shuffle_names", [False, True])
@pytest.mark.parametrize("window", [None, 3])
def test_a_policy_example_is_the_encoded_state_at_its_offset_and_the_actions_after_it(
    shuffle_names: bool, window: int | None
) -> None:
    stream = examples(replace(POLICY, shuffle_names=shuffle_names, window=window))
    codec = WordsEncoding(VOCABULARY)
    epoch = stream.epoch(2)
    for number, instances in enumerate(epoch.batches):
        batch = stream.batch(Position(2, number))
        names = stream._names(len(instances), Position(2, number))
        for row, instance in enumerate(instances):
            each, offset = problems()[instance], epoch.offset[instance]
            binding = renamed(each, names[row], VOCABULARY)
            prompt = codec.prompt(each.states[offset] | each.static_atoms, each.goal, binding)
            assert np.array_equal(batch["prompt"][row, : batch["prompt_len"][row]], prompt)
            assert not batch["prompt"][row, batch["prompt_len"][row] :].any()
            last = len(each.plan) if window is None else offset + window
            plan = [
                *itertools.chain.from_iterable(codec.action(action, binding) for action in each.plan[offset:last]),
                END,
            ]
            expected = plan if last >= len(each.plan) else plan[:-1]
            assert np.array_equal(batch["plan"][row, : batch["plan_len"][row]], expected)
            assert not batch["plan"][row, batch["plan_len"][row] :].any()


def test_a_heuristic_example_is_a_state_and_the_number_of_actions_that_remain() -> None:
    stream = examples(replace(HEURISTIC, shuffle_names=False))
    codec = WordsEncoding(VOCABULARY)
    epoch = stream.epoch(0)
    for number, instances in enumerate(epoch.batches):
        batch = stream.batch(Position(0, number))
        assert set(batch) == {"prompt", "prompt_len", "cost"}
        for row, instance in enumerate(instances):
            each = problems()[instance]
            offset = len(each.plan) - batch["cost"][row]
            state = each.states[offset] | each.static_atoms
            prompt = codec.prompt(state, each.goal, Binding(VOCABULARY, each.objects))
            assert np.array_equal(batch["prompt"][row, : batch["prompt_len"][row]], prompt)


@pytest.mark.parametrize(("settings", "beyond"), [(POLICY, 0), (HEURISTIC, 1)])
def test_offsets_reach_every_step_and_for_heuristics_the_end(settings: WordsBatchSettings, beyond: int) -> None:
    stream = examples(settings)
    seen = np.array([stream.epoch(number).offset for number in range(200)])
    for instance, each in enumerate(problems()):
        assert set(seen[:, instance]) == set(range(max(1, len(each.plan) + beyond)))


@pytest.mark.parametrize("settings", [POLICY, HEURISTIC])
def test_without_action_compilation_every_example_starts_at_the_initial_state(settings: WordsBatchSettings) -> None:
    assert not examples(replace(settings, compile=False)).epoch(3).offset.any()


@pytest.mark.parametrize("settings", [POLICY, HEURISTIC])
def test_an_epoch_holds_each_plan_once_in_batches_within_the_token_budget(settings: WordsBatchSettings) -> None:
    stream = examples(settings)
    epoch = stream.epoch(1)
    assert sorted(np.concatenate(epoch.batches)) == list(range(len(problems())))
    assert len(epoch.batches) > 2
    for number in range(len(epoch.batches)):
        batch = stream.batch(Position(1, number))
        width = batch["prompt"].shape[1] + (batch["plan"].shape[1] if "plan" in batch else 0)
        assert len(batch["prompt"]) * width <= 300
        assert np.array_equal(batch["prompt_len"], epoch.prompt_len[epoch.batches[number]])


def test_an_example_beyond_the_budget_comes_alone() -> None:
    epoch = examples(replace(POLICY, tokens=1)).epoch(0)
    assert [len(batch) for batch in epoch.batches] == [1] * len(problems())


def test_batches_can_be_limited_by_examples_instead() -> None:
    epoch = examples(replace(POLICY, tokens=None, examples=8)).epoch(0)
    assert sorted(np.concatenate(epoch.batches)) == list(range(len(problems())))
    assert sorted(len(batch) for batch in epoch.batches) == [6, 6, *[8] * 6]


def test_an_example_ends_with_end_only_where_its_plan_ends_inside_the_window() -> None:
    stream = examples(replace(POLICY, tokens=900))
    ends = 0
    for _, batch in itertools.islice(stream.stream(Position()), 30):
        last = batch["plan"][np.arange(len(batch["plan"])), batch["plan_len"] - 1]
        ends += int(np.sum(last == END))
        assert 0 < np.sum(batch["plan"] == END, axis=1).max() <= 1
    assert ends > 0


@pytest.mark.parametrize("settings", [POLICY, HEURISTIC])
def test_resuming_gives_the_batches_of_the_uninterrupted_run(settings: WordsBatchSettings) -> None:
    whole = list(itertools.islice(examples(settings).stream(Position()), 40))
    for stop in (1, 7, len(examples(settings).epoch(0).batches), 33):
        position = whole[stop - 1][0]
        rest = itertools.islice(examples(settings).stream(position), 40 - stop)
        for (place, batch), (expected_place, expected) in zip(rest, whole[stop:], strict=True):
            assert place == expected_place
            assert same(batch, expected)


def test_epochs_and_seeds_differ() -> None:
    first, again, later, other = (
        examples(replace(POLICY, seed=seed)).batch(Position(epoch, 0))
        for seed, epoch in [(5, 0), (5, 0), (5, 1), (6, 0)]
    )
    assert same(first, again)
    assert not same(first, later)
    assert not same(first, other)


@pytest.mark.parametrize("settings", [POLICY, HEURISTIC])
@pytest.mark.parametrize("world", [2, 3])
def test_the_shares_of_all_processes_are_the_batch_of_one(settings: WordsBatchSettings, world: int) -> None:
    streams = [examples(settings).stream(Position(), rank, world) for rank in range(world)]
    for shares, (place, batch) in zip(zip(*streams, strict=True), examples(settings).stream(Position()), strict=False):
        if place.epoch > 1:
            break
        for rank, (share_place, share) in enumerate(shares):
            assert share_place == place
            for key, values in share.items():
                whole = batch[key][rank::world]
                if values.ndim > 1:
                    assert not whole[:, values.shape[1] :].any()
                    whole = whole[:, : values.shape[1]]
                assert np.array_equal(values, whole)


@pytest.mark.parametrize("settings", [POLICY, HEURISTIC])
def test_a_process_beyond_the_examples_of_a_batch_gets_an_empty_share(settings: WordsBatchSettings) -> None:
    batch = examples(replace(settings, tokens=1)).batch(Position(), rank=1, world=2)
    assert all(len(values) == 0 for values in batch.values())


def test_validation_is_the_same_every_time_and_holds_each_plan_once() -> None:
    stream = examples(HEURISTIC)
    first, second = list(stream.validation()), list(stream.validation())
    assert all(same(left, right) for left, right in zip(first, second, strict=True))
    assert sum(len(batch["cost"]) for batch in first) == len(problems())


def test_names_draw_from_the_whole_pool_and_leave_meaningful_ones_alone() -> None:
    stream = examples(replace(POLICY, tokens=3000))
    names = np.concatenate([stream._names(50, Position(epoch, 0)) for epoch in range(5)])
    shift = VOCABULARY.first_object - 1
    for name, token in VOCABULARY.object_ids.items():
        reached = {VOCABULARY.tokens[new + shift] for new in names[:, token - shift]}
        assert reached == ({f"t{i}" for i in range(1, 7)} if name.startswith("t") else {name})
    assert not names[:, 0].any()


def test_batches_can_be_made_in_several_threads() -> None:
    positions = [Position(epoch, number) for epoch in range(4) for number in range(4)]
    alone = [examples(POLICY).batch(position) for position in positions]
    shared = examples(POLICY)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(shared.batch, positions))
    assert all(same(left, right) for left, right in zip(alone, together, strict=True))


def test_the_canonical_order_does_not_depend_on_numbers_fitting_one_key() -> None:
    rng = np.random.default_rng(0)
    wide = replace(VOCABULARY, predicates=(*VOCABULARY.predicates, Symbol("wide", 40)))
    rows = np.column_stack([rng.integers(0, 5, 200), rng.integers(0, 3, 200), rng.integers(0, 9, (200, 3))])
    owner = np.sort(rng.integers(0, 4, 200))
    short, long = (np.column_stack([owner, rows])[canonical_order(rows, owner, each)] for each in (VOCABULARY, wide))
    assert np.array_equal(short, long)


@pytest.mark.parametrize(
    "changes",
    [{"kind": "oracle"}, {"tokens": 0}, {"window": 0}, {"examples": 4}, {"tokens": None}],
)
def test_settings_that_make_no_sense_are_input_errors(changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        replace(POLICY, **changes)  # type: ignore[arg-type]
