"""Examples from a data set on disk: built once, in any number of processes, and only from plans that hold."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oclgen.data import dataset
from oclgen.data.examples import arrays, replayed
from oclgen.data.examples.arrays import array_names
from oclgen.data.examples.words_store import WordsStore, atom_row, build_store, open_store
from oclgen.domains import catalog
from oclgen.encoding import Binding, Vocabulary, build_vocabulary
from oclgen.errors import InputError
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask
from tests.data.walked_data import solved_row

SPEC = catalog.load("blocksworld")
RECIPE = {"domain": "blocksworld"}


def vocabulary(blocks: int = 40) -> Vocabulary:
    pool = {"types": ["object"], "names": [f"b{{1..{blocks}}}"], "meaningful": False}
    return build_vocabulary(read_domain(SPEC.domain_text), {"left_out": [], "pool": [pool]})


def row(number: int, blocks: int, split: str = "train") -> dataset.Row:
    """A problem solved by construction: its goal is what a random walk ends in."""
    rng = random.Random(number)
    text = SPEC.generator.generate(rng, blocks=blocks)
    task = PddlTask(SPEC.domain_text, text)
    state, plan = task.initial_state, []
    for _ in range(rng.randint(1, 10)):
        plan.append(rng.choice(task.applicable(state)))
        state = task.apply(state, plan[-1])
    goal = " ".join(f"({' '.join(atom)})" for atom in task.atoms(state))
    problem = f"{text[: text.index('(:goal')]} (:goal (and {goal})))"
    return solved_row(number, problem, tuple(plan), split)


def stored(path: Path, rows: list[dataset.Row]) -> dataset.Dataset:
    writer = dataset.Writer(path, RECIPE, SPEC.domain_text)
    for each in rows:
        writer.append(each)
    writer.close()
    return dataset.open_dataset(path)


def same(left: WordsStore, right: WordsStore) -> bool:
    return left.refused == right.refused and all(
        np.array_equal(getattr(left, name), getattr(right, name)) for name in array_names(WordsStore)
    )


def test_a_store_holds_the_solved_problems_of_its_split(tmp_path: Path) -> None:
    rows = [row(1, 4), row(2, 3), row(3, 5), row(4, 4, "val")]
    data = stored(tmp_path / "data", rows)
    store = build_store(data, "train", vocabulary())
    assert store.ids.tolist() == [1, 2, 3]
    assert store.length.tolist() == [each.length for each in rows[:3]]
    assert store.refused == 0


def test_an_atom_is_a_row_of_predicate_segment_and_shifted_arguments() -> None:
    binding = Binding(vocabulary(), {"b1": "object", "b2": "object"})
    on, arm_empty = (vocabulary().predicate_indices[name] for name in ("on", "arm-empty"))
    assert atom_row(("on", "b2", "b1"), 2, binding) == [on, 2, 2, 1]
    assert atom_row(("arm-empty",), 0, binding) == [arm_empty, 0, 0, 0]


def test_several_processes_build_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed, "JOB_ROWS", 2)
    data = stored(tmp_path / "data", [row(number, 3) for number in range(7)])
    assert same(build_store(data, "train", vocabulary(), workers=2), build_store(data, "train", vocabulary()))


def test_a_store_is_built_once_and_again_when_the_data_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = stored(tmp_path / "data", [row(1, 3)])
    first = open_store(data, "train", vocabulary())
    with monkeypatch.context() as patch:
        patch.setattr(replayed, "build_arrays", None)
        assert same(open_store(data, "train", vocabulary()), first)
    data = stored(tmp_path / "data", [row(2, 3)])
    assert open_store(data, "train", vocabulary()).ids.tolist() == [1, 2]


def test_an_interrupted_build_leaves_nothing_that_looks_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    data = stored(tmp_path / "data", [row(1, 3)])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(arrays.GrowingArray, "finish", stop)
        open_store(data, "train", vocabulary())
    assert list((tmp_path / "data" / "examples").iterdir()) == []
    assert len(open_store(data, "train", vocabulary())) == 1


def test_problems_beyond_the_vocabulary_are_counted_not_encoded(tmp_path: Path) -> None:
    data = stored(tmp_path / "data", [row(1, 3), row(2, 5), row(3, 3)])
    store = open_store(data, "train", vocabulary(blocks=4))
    assert store.ids.tolist() == [1, 3]
    assert store.refused == 1


def test_a_split_without_examples_is_an_input_error(tmp_path: Path) -> None:
    data = stored(tmp_path / "data", [row(1, 5)])
    with pytest.raises(InputError, match="no example in split 'val'"):
        open_store(data, "val", vocabulary())
    with pytest.raises(InputError, match="1 problems cannot be encoded"):
        open_store(data, "train", vocabulary(blocks=4))


@pytest.mark.parametrize(
    ("plan", "message"), [("(putdown b1)", r"row 7 \(p7\): .* does not work"), ("", r"row 7 \(p7\): .* the goal")]
)
def test_a_wrong_plan_is_an_input_error_that_names_the_row(tmp_path: Path, plan: str, message: str) -> None:
    wrong = replace(row(7, 4), plan=f"{plan}\n; cost = 1 (unit cost)\n")
    data = stored(tmp_path / "data", [wrong])
    with pytest.raises(InputError, match=message):
        build_store(data, "train", vocabulary())


def test_a_damaged_store_is_an_input_error_that_says_what_to_delete(tmp_path: Path) -> None:
    data = stored(tmp_path / "data", [row(1, 3)])
    open_store(data, "train", vocabulary())
    (file,) = (tmp_path / "data" / "examples").glob("*/rows.npy")
    file.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="delete this folder"):
        open_store(data, "train", vocabulary())


def test_a_folder_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    data = stored(tmp_path / "data", [row(1, 3)])
    (tmp_path / "data" / "examples").write_text("in the way")
    with pytest.raises(InputError, match="examples: "):
        open_store(data, "train", vocabulary())


def test_two_processes_may_build_the_same_store_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build_twice(data: dataset.Dataset, split: str, *_: Any) -> list[WordsStore]:
        monkeypatch.undo()
        return [open_store(data, split, vocabulary())]

    data = stored(tmp_path / "data", [row(1, 3)])
    monkeypatch.setattr(replayed, "build_arrays", build_twice)
    assert len(open_store(data, "train", vocabulary())) == 1
    assert len(list((tmp_path / "data" / "examples").iterdir())) == 1
