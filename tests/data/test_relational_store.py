"""The store of a data set's problems as relations: made once, by any number of processes, whole or not at all."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oclgen.data.examples import replayed
from oclgen.data.examples.arrays import array_names, join_arrays, load_arrays, save_arrays
from oclgen.data.examples.relational_store import RelationalStore, encode_problem, open_relational_store
from oclgen.data.examples.replayed import ALWAYS, atom_spans
from oclgen.domains import catalog
from oclgen.encoding.distances import FAR
from oclgen.encoding.relational import GOAL, GOAL_MET, NEGATIVE_GOAL, NEGATIVE_GOAL_MET, STATE, schema_of
from oclgen.errors import InputError, UnsupportedError
from oclgen.interfaces import Atom
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.reading.problem import read_problem
from tests.data.walked_data import walked_dataset, walked_rows, written
from tests.pddl.samples import DELIVERY, ERRAND, ERRAND_PLAN, drawn

A: Atom = ("a",)
B: Atom = ("b",)


def same(left: RelationalStore, right: RelationalStore) -> bool:
    return left.refused == right.refused and all(
        np.array_equal(getattr(left, name), getattr(right, name)) for name in array_names(RelationalStore)
    )


def errand() -> RelationalStore:
    row = replace(walked_rows("blocksworld", 1)[0], problem=ERRAND, plan=format_plan(ERRAND_PLAN))
    return encode_problem(schema_of(read_domain(DELIVERY)), 7, replayed.replayed(DELIVERY, row))


def test_each_atom_has_a_span_for_every_time_it_holds() -> None:
    states = [frozenset({A}), frozenset({B}), frozenset({A, B}), frozenset({B})]
    spans = sorted(atom_spans(states, [("still",)]))
    assert spans == [(A, 0, 1), (A, 2, 3), (B, 1, ALWAYS), (("still",), 0, ALWAYS)]


def test_goals_have_spans_in_the_segments_they_pass_through() -> None:
    store, schema = errand(), schema_of(read_domain(DELIVERY))
    names = list(schema.predicates)
    spans = {
        (names[code // 5], code % 5, int(start), int(stop))
        for code, start, stop in zip(store.atoms[:, 0].tolist(), store.start, store.stop, strict=True)
        if code % 5 != STATE
    }
    assert spans == {
        ("at", GOAL, 0, 4),
        ("at", GOAL_MET, 4, ALWAYS),
        ("sealed", GOAL_MET, 0, ALWAYS),
        ("carried", NEGATIVE_GOAL_MET, 0, 2),
        ("carried", NEGATIVE_GOAL, 2, 4),
        ("carried", NEGATIVE_GOAL_MET, 4, ALWAYS),
    }


def test_a_store_knows_the_relations_that_occur_and_its_distances() -> None:
    store, schema = errand(), schema_of(read_domain(DELIVERY))
    relations = store.relations(schema)
    assert ("road", STATE) in relations and ("at", GOAL_MET) in relations
    assert ("road", GOAL) not in relations and ("stamped", STATE) not in relations
    (size,) = store.rows_of(np.array([0])).tolist()
    table = store.distances.reshape(size, size)
    assert store.has_distances and sorted(set(table.reshape(-1).tolist())) == [0, 1, 2, FAR]


def test_where_no_static_atom_joins_objects_there_are_no_distances(tmp_path: Path) -> None:
    store = open_relational_store(walked_dataset(tmp_path / "data", "blocksworld", 3), "train")
    assert not store.has_distances
    assert store.distance_begin.tolist() == [0] * (len(store) + 1)


def test_several_processes_make_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed, "JOB_ROWS", 2)
    rows, text = walked_rows("sokoban", 7), catalog.load("sokoban").domain_text
    stores = [
        open_relational_store(written(tmp_path / str(workers), text, rows), "train", workers) for workers in (1, 2)
    ]
    assert same(*stores)
    assert len(stores[0]) == 6 and len(stores[0].ids) == len(set(stores[0].ids.tolist()))


def test_a_store_is_made_once_and_again_when_the_data_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, text = walked_rows("blocksworld", 4), catalog.load("blocksworld").domain_text
    data = written(tmp_path / "data", text, rows[:2])
    first = open_relational_store(data, "train")
    with monkeypatch.context() as patch:
        patch.setattr(replayed, "build_arrays", None)
        assert same(open_relational_store(data, "train"), first)
    assert open_relational_store(written(tmp_path / "data", text, rows[2:4]), "train").ids.tolist() == [0, 1, 2, 3]


def test_records_joined_end_to_end_are_read_back_as_written(tmp_path: Path) -> None:
    both = join_arrays([errand(), errand()])
    save_arrays([errand(), errand()], tmp_path / "examples" / "store")
    again = load_arrays(RelationalStore, tmp_path / "examples" / "store")
    assert same(again, both)
    assert again.ids.tolist() == [7, 7]
    half = int(again.atom_begin[1])
    assert np.array_equal(again.atoms[:half], again.atoms[half:])


def test_a_damaged_store_says_what_to_delete(tmp_path: Path) -> None:
    data = walked_dataset(tmp_path / "data", "blocksworld", 2)
    open_relational_store(data, "train")
    [file] = (tmp_path / "data" / "examples").glob("*/atoms.npy")
    file.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="delete this folder"):
        open_relational_store(data, "train")


def test_a_problem_with_too_many_objects_is_not_encoded() -> None:
    info = read_problem(*drawn("blocksworld", 0))
    many = replace(info, objects={f"x{i}": "object" for i in range(ALWAYS)})
    with pytest.raises(UnsupportedError, match="fewer than"):
        encode_problem(schema_of(info.domain), 0, replayed.Replayed(many, (), [frozenset()], frozenset()))
