"""Batches for relational models, example by example against a replay; shares of processes; exact resumption."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from oclgen.data.dataset import DEAD_END, Dataset
from oclgen.data.examples.batches import Batch, Position
from oclgen.data.examples.relational import RelationalBatchSettings, RelationalExamples
from oclgen.data.examples.relational_store import open_relational_store
from oclgen.encoding.relational import ProblemGraph, schema_of
from oclgen.errors import InputError
from oclgen.interfaces import State
from oclgen.pddl.plan_file import format_plan, parse_plan
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask
from tests.data.walked_data import walked_dataset, walked_row, written
from tests.pddl.samples import DELIVERY, ERRAND, SMALL


def examples(data: Dataset, with_distances: bool = True, **changes: object) -> RelationalExamples:
    schema = schema_of(read_domain(data.domain_text))
    store = open_relational_store(data, "train")
    values = {"tokens": 300, "window": 4, "positions": 40, "seed": 5} | changes
    limits = RelationalBatchSettings(**values)  # type: ignore[arg-type]
    return RelationalExamples(store, schema, store.relations(schema), limits, with_distances)


def replay(task: PddlTask, actions: tuple[tuple[str, ...], ...]) -> State:
    state: State | None = task.initial_state
    for action in actions:
        assert state is not None
        state = task.apply(state, action)
    return state


def check_example(
    stream: RelationalExamples, data: Dataset, batch: Batch, place: int, instance: int, step: int
) -> None:
    """Example `place` of a batch is the problem `instance` after `step` actions."""
    [row] = [each for each in data.rows("train") if each.id == stream.store.ids[instance]]
    task, plan = PddlTask(data.domain_text, row.problem), parse_plan(row.plan, row.name)
    graph = ProblemGraph(stream.schema, stream.relations, task, stream.with_distances)
    size, first = graph.size, int(batch["prompt_len"][:place].sum())
    assert batch["prompt_len"][place] == size
    assert batch["place"][place, :size].tolist() == list(range(first, first + size))
    longest = batch["place"].shape[1]
    assert batch["back"][first : first + size].tolist() == list(range(place * longest, place * longest + size))
    assert np.array_equal(batch["kinds"][first : first + size], graph.kinds)
    degree = np.zeros(size)
    for i, expected in enumerate(graph.atoms(task.atoms(replay(task, plan[:step])))):
        rows = batch[f"atoms.{i}"]
        own = rows[(rows[:, 0] >= first) & (rows[:, 0] < first + size)] - first
        assert sorted(own.tolist()) == sorted(expected.tolist())
        degree += np.bincount(expected.reshape(-1), minlength=size)
    assert np.allclose(batch["scale"][first : first + size], 1 / np.sqrt(np.maximum(degree, 1)))
    if graph.distances is not None:
        assert np.array_equal(batch["distances"][place, :size, :size], graph.distances)
    check_plan(stream, graph, batch, place, plan[step:])


def check_plan(
    stream: RelationalExamples, graph: ProblemGraph, batch: Batch, place: int, rest: tuple[tuple[str, ...], ...]
) -> None:
    window, positions = stream.settings.window, stream.settings.positions
    tokens = [token for action in rest[:window] for token in graph.tokens(action)]
    due = [place for action in rest[:window] for place in range(len(action))]
    if window is None or len(rest) <= window:
        tokens, due = [*tokens, stream.schema.end], [*due, 0]
    length = int(batch["plan_len"][place])
    assert length == min(len(tokens), positions or len(tokens))
    assert batch["plan"][place, :length].tolist() == tokens[:length]
    assert batch["due"][place, :length].tolist() == due[:length]
    assert batch["cost"][place] == len(rest)


@pytest.mark.parametrize("domain", SMALL)
def test_a_batch_holds_the_replayed_states_and_the_rest_of_their_plans(domain: str, tmp_path: Path) -> None:
    data = walked_dataset(tmp_path / "data", domain, 12)
    stream = examples(data, positions=6)
    seen = []
    for epoch in range(2):
        drawn = stream.epoch(epoch)
        for number, instances in enumerate(drawn.batches):
            batch = stream.batch(Position(epoch, number))
            for place, instance in enumerate(instances.tolist()):
                check_example(stream, data, batch, place, instance, int(drawn.offset[instance]))
                seen.append((epoch, instance))
    assert sorted(seen) == [(epoch, instance) for epoch in range(2) for instance in range(len(stream.store))]


def test_constants_negative_goals_and_static_goals_are_as_the_encoding_has_them(tmp_path: Path) -> None:
    rows = [walked_row(number, DELIVERY, ERRAND) for number in range(8)]
    data = written(tmp_path / "data", DELIVERY, rows)
    stream = examples(data, window=None, positions=None)
    drawn = stream.epoch(0)
    for number, instances in enumerate(drawn.batches):
        batch = stream.batch(Position(0, number))
        for place, instance in enumerate(instances.tolist()):
            check_example(stream, data, batch, place, instance, int(drawn.offset[instance]))


def test_a_dead_end_costs_what_its_row_says_and_nothing_follows(tmp_path: Path) -> None:
    walked = walked_row(1, DELIVERY, ERRAND)
    dead = replace(walked, id=2, fingerprint="2", plan=format_plan(()), length=77, outcome=DEAD_END)
    stream = examples(written(tmp_path / "data", DELIVERY, [walked, dead]), tokens=10_000)
    batch = stream.batch(Position(0, 0))
    [place] = np.flatnonzero(stream.store.ids[stream.epoch(0).batches[0]] == 2)
    assert batch["cost"][place] == 77 and batch["plan_len"][place] == 1
    assert batch["plan"][place, 0] == stream.schema.end
    assert sorted(batch["cost"])[0] <= walked.length


@pytest.mark.parametrize("world", [2, 3])
def test_the_shares_of_processes_are_the_batch_of_one(world: int, tmp_path: Path) -> None:
    stream = examples(walked_dataset(tmp_path / "data", "logistics", 15), tokens=400)
    for number in range(len(stream.epoch(0).batches)):
        whole = stream.batch(Position(0, number))
        ends = np.cumsum(whole["prompt_len"])
        for rank in range(world):
            share = stream.batch(Position(0, number), rank, world)
            rows = [np.arange(end - size, end) for end, size in zip(ends, whole["prompt_len"], strict=True)][
                rank::world
            ]
            flat = np.concatenate([*rows, np.zeros(0, int)])
            for name in ("kinds", "noise", "scale"):
                assert np.array_equal(share[name], whole[name][flat])
            for name in ("cost", "plan_len", "prompt_len"):
                assert np.array_equal(share[name], whole[name][rank::world])
            for i, length in enumerate(share["plan_len"].tolist()):
                assert np.array_equal(share["plan"][i, :length], whole["plan"][rank::world][i, :length])


def test_a_share_without_examples_is_empty(tmp_path: Path) -> None:
    stream = examples(walked_dataset(tmp_path / "data", "blocksworld", 3), tokens=None, examples=1)
    share = stream.batch(Position(0, 0), 1, 2)
    assert len(share["prompt_len"]) == len(share["noise"]) == len(share["cost"]) == 0


def same(left: Batch, right: Batch) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def test_a_stream_goes_on_from_any_position_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    data = walked_dataset(tmp_path / "data", "blocksworld", 20)
    whole = list(islice(examples(data).stream(Position()), 12))
    assert whole[-1][0].epoch > 0
    position = whole[4][0]
    resumed = list(islice(examples(data).stream(position), 7))
    for (one, batch), (other, again) in zip(whole[5:], resumed, strict=True):
        assert one == other and same(batch, again)


def test_noise_and_offsets_are_new_in_every_epoch_and_follow_the_seed(tmp_path: Path) -> None:
    data = walked_dataset(tmp_path / "data", "blocksworld", 20)
    stream = examples(data)
    assert not np.array_equal(stream.epoch(0).offset, stream.epoch(1).offset)
    first, second = stream.batch(Position(0, 0))["noise"], stream.batch(Position(1, 0))["noise"]
    assert first[0].tolist() not in second.tolist()
    assert not np.array_equal(examples(data, seed=6).epoch(0).offset, stream.epoch(0).offset)
    assert not examples(data, compile=False).epoch(0).offset.any()


def test_batches_keep_to_their_limits(tmp_path: Path) -> None:
    data = walked_dataset(tmp_path / "data", "logistics", 20)
    stream = examples(data, tokens=200)
    for number in range(len(stream.epoch(0).batches)):
        batch = stream.batch(Position(0, number))
        size = len(batch["prompt_len"]) * (int(batch["prompt_len"].max()) + int(batch["plan_len"].max()))
        assert size <= 200 or len(batch["prompt_len"]) == 1
    assert max(map(len, examples(data, tokens=None, examples=3).epoch(0).batches)) == 3


@pytest.mark.parametrize("changes", [{"tokens": None}, {"examples": 3}, {"tokens": 0}, {"window": 0}, {"positions": 0}])
def test_limits_that_make_no_sense_are_refused(changes: dict[str, int | None]) -> None:
    with pytest.raises(InputError, match=r"limited by|positive"):
        RelationalBatchSettings(**{"tokens": 10} | changes)  # type: ignore[arg-type]
