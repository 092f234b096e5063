"""Data sets larger than an epoch: every plan once per pass, in memory that does not grow."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from oclgen.data.examples import batches
from oclgen.data.examples.batches import Position, plans_of, segments
from oclgen.data.examples.relational import RelationalBatchSettings, RelationalExamples
from oclgen.data.examples.relational_store import open_relational_store
from oclgen.encoding.relational import schema_of
from oclgen.pddl.reading.domain import read_domain
from tests.data.walked_data import walked_dataset


@pytest.fixture
def small_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SEGMENT", 12)
    monkeypatch.setattr(batches, "BLOCK", 3)


@pytest.mark.usefixtures("small_epochs")
@pytest.mark.parametrize("size", [1, 12, 13, 24, 31, 100])
def test_a_pass_deals_out_every_plan_once(size: int) -> None:
    for turn in range(3):
        dealt = [plans_of(turn * segments(size) + place, size, seed=7) for place in range(segments(size))]
        assert sorted(np.concatenate(dealt).tolist()) == list(range(size))
        assert max(map(len, dealt)) <= 12 + 3


@pytest.mark.usefixtures("small_epochs")
def test_every_pass_deals_anew_but_always_alike() -> None:
    first, second, again = (plans_of(epoch, 100, seed=7).tolist() for epoch in (0, segments(100), 0))
    assert first == again != second


@pytest.mark.usefixtures("small_epochs")
def test_a_stream_over_several_epochs_shows_each_plan_once_per_pass(tmp_path: Path) -> None:
    data = walked_dataset(tmp_path / "data", "blocksworld", 40)
    store, schema = open_relational_store(data, "train"), schema_of(read_domain(data.domain_text))
    limits = RelationalBatchSettings(examples=4, window=6)
    stream = RelationalExamples(store, schema, store.relations(schema), limits, False)
    assert segments(len(store)) == 3
    seen = [stream.epoch(epoch).batches for epoch in range(3)]
    assert sorted(np.concatenate([plan for epoch in seen for plan in epoch]).tolist()) == list(range(len(store)))
    assert stream.batches_per_pass() == sum(map(len, seen))
    shown = islice(stream.stream(Position()), stream.batches_per_pass())
    assert sum(len(batch["cost"]) for _, batch in shown) == len(store)
    for instances in stream.epoch(1).batches:
        offset = stream.epoch(1).offset[stream.epoch(1).places(instances)]
        assert (offset <= store.length_of(instances)).all()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
@pytest.mark.parametrize("kind", ["words", "relational"])
def test_memory_does_not_grow_with_the_number_of_plans(tmp_path: Path, kind: str) -> None:
    walked_dataset(tmp_path / "data", "blocksworld", 40, ["blocks=3"])

    def kilobytes(repetitions: int) -> int:
        command = [sys.executable, "-m", "tests.data.store_memory", kind, str(tmp_path / "data"), str(repetitions)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    few, many = kilobytes(256), kilobytes(8192)  # 8,192 and 262,144 plans, in epochs of 4,096
    assert many - few < 4096
