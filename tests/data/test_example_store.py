"""Examples from a data set on disk: built once, in any number of processes, and only from plans that hold."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oclgen.data import arrays, dataset, replayed
from oclgen.data.arrays import array_names
from oclgen.data.example_store import Store, build_store, open_store
from oclgen.data.examples import BatchSettings, Examples
from oclgen.domains import catalog
from oclgen.encoding import Binding, Vocabulary, build_vocabulary, load
from oclgen.encoding.vocabulary import END
from oclgen.errors import InputError
from oclgen.inference.rollout import Draft, Grammar
from oclgen.pddl.domain import read_domain
from oclgen.pddl.plan_file import parse_plan
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


def same(left: Store, right: Store) -> bool:
    return left.refused == right.refused and all(
        np.array_equal(getattr(left, name), getattr(right, name)) for name in array_names(Store)
    )


def test_a_store_holds_the_solved_problems_of_its_split(tmp_path: Path) -> None:
    rows = [row(1, 4), row(2, 3), row(3, 5), row(4, 4, "val")]
    data = stored(tmp_path / "data", rows)
    store = build_store(data, "train", vocabulary())
    assert store.ids.tolist() == [1, 2, 3]
    assert store.length.tolist() == [each.length for each in rows[:3]]
    assert store.refused == 0


def test_a_store_of_choices_holds_what_restricted_decoding_would_have_asked_for(tmp_path: Path) -> None:
    rows = [row(number, 4) for number in range(8)]
    store = build_store(stored(tmp_path / "data", rows), "train", vocabulary(), plans="choices")
    for i, each in enumerate(rows):
        task, plan = PddlTask(SPEC.domain_text, each.problem), parse_plan(each.plan, each.name)
        kept = store.plan[store.plan_begin[i] : store.plan_begin[i + 1]].tolist()
        first = store.step_token[store.step_begin[i] : store.step_begin[i + 1]].tolist()
        grammar = blocks_grammar(task)
        draft = Draft(grammar, grammar.reached(task.initial_state), True, None)
        for step, action in enumerate(plan):
            if draft.ended:
                break  # the walk came to its goal before its end
            asked = []
            for token in grammar.tokens(action):
                if draft.forced is None:
                    asked.append(token)
                draft.extend(token, 1.0)
            assert asked == kept[first[step] : first[step + 1]]
        assert kept[first[-1] :] == [END]


def blocks_grammar(task: PddlTask) -> Grammar:
    words = vocabulary()
    binding = Binding(words, task.objects)
    operators = {words.first_operator + i: (each.name, each.arity) for i, each in enumerate(words.operators)}
    return Grammar(task, operators, binding.object, lambda action: load("atoms", words).action(action, binding))


def test_examples_of_choices_begin_at_a_choice_and_fit_the_positions(tmp_path: Path) -> None:
    store = build_store(stored(tmp_path / "data", [row(n, 4) for n in range(30)]), "train", vocabulary(), 1, "choices")
    settings = BatchSettings("policy", "atoms", tokens=500, positions=4)
    epoch = Examples(store, vocabulary(), settings).epoch(0)
    step = store.step_begin[:-1] + epoch.offset
    asked = store.step_token[step + 1] > store.step_token[step]
    assert (asked | (epoch.offset == store.length - 1)).all() and asked.any()
    assert epoch.plan_len.min() >= 1 and epoch.plan_len.max() == 4


def test_a_heuristic_of_choices_learns_goals_and_states_with_a_choice(tmp_path: Path) -> None:
    rows = [row(number, 4) for number in range(30)]
    store = build_store(stored(tmp_path / "data", rows), "train", vocabulary(), 1, "choices")
    examples = Examples(store, vocabulary(), BatchSettings("heuristic", "atoms", tokens=500))
    epochs = [examples.epoch(number) for number in range(5)]
    offset = np.concatenate([epoch.offset for epoch in epochs])
    step = np.tile(store.step_begin[:-1], 5) + offset
    left = np.tile(store.length, 5) - offset
    asked = np.append(np.diff(store.step_token) > 0, False)[step]
    assert (asked | (left <= 1)).all() and asked.any() and (left == 0).any()


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
    def build_twice(data: dataset.Dataset, split: str, *_: Any) -> list[Store]:
        monkeypatch.undo()
        return [open_store(data, split, vocabulary())]

    data = stored(tmp_path / "data", [row(1, 3)])
    monkeypatch.setattr(replayed, "build_arrays", build_twice)
    assert len(open_store(data, "train", vocabulary())) == 1
    assert len(list((tmp_path / "data" / "examples").iterdir())) == 1
