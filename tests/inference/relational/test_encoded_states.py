"""States are encoded once, kept within a bound, and forgotten with their task."""

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oclgen.errors import UnsupportedError
from oclgen.inference.relational import encoded_states
from oclgen.inference.relational.encoded_states import RelationalModel
from oclgen.interfaces import State
from oclgen.pddl.task import PddlTask
from tests.pddl.samples import drawn
from tests.relational_folder import random_relational_model


def open_task(tmp_path: Path) -> tuple[RelationalModel, PddlTask, list[State]]:
    domain, problem = drawn("logistics", 0)
    task = PddlTask(domain, problem)
    successors = [task.apply(task.initial_state, each) for each in task.applicable(task.initial_state)]
    different = list(dict.fromkeys([task.initial_state, *successors]))
    return random_relational_model(tmp_path / "model", domain), task, different


def counted(model: RelationalModel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many states each call of the encoder gets."""
    calls: list[int] = []
    encode: Any = model.engine.encode_batch

    def counting(problem: Any, states: Any) -> Any:
        calls.append(len(states))
        return encode(problem, states)

    monkeypatch.setattr(model.engine, "encode_batch", counting)
    return calls


def test_a_state_is_encoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, task, states = open_task(tmp_path)
    calls = counted(model, monkeypatch)
    first = model.states(task).rows([states[0], states[1], states[0]])
    again = model.states(task).rows(states[:2])
    assert first[0] is first[2] is again[0] and first[1] is again[1]
    assert sum(calls) == 2


def test_states_used_last_stay_within_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, task, states = open_task(tmp_path)
    assert len(states) >= 3
    kept = model.states(task)
    size = kept.rows(states[:1])[0].nbytes
    monkeypatch.setattr(encoded_states, "KEPT_BYTES", 2 * size)
    calls = counted(model, monkeypatch)
    kept.rows([states[1]])
    kept.rows([states[0]])
    kept.rows([states[2]])
    kept.rows([states[0]])
    assert sum(calls) == 2
    kept.rows([states[1]])
    assert sum(calls) == 3


def test_what_rollouts_add_to_a_state_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, task, states = open_task(tmp_path)
    kept = model.states(task)
    rows = kept.rows(states[:2])
    bound = 3 * max(each.nbytes for each in rows)  # enough for three states before rollouts
    engine: Any = model.engine
    engine.prepare(rows)
    assert sum(each.nbytes for each in rows) > bound
    monkeypatch.setattr(encoded_states, "KEPT_BYTES", bound)
    calls = counted(model, monkeypatch)
    kept.rows([states[2]])
    kept.rows([states[0]])
    assert sum(calls) == 2  # the third state, and the first one, which had to go


def test_what_was_kept_is_what_would_be_computed(tmp_path: Path) -> None:
    model, task, states = open_task(tmp_path)
    one: Any = model.states(task).rows(states)
    other: Any = random_relational_model(tmp_path / "again", drawn("logistics", 0)[0]).states(task).rows(states[::-1])
    for left, right in zip(one, other[::-1], strict=True):
        assert np.array_equal(left.final, right.final)


def test_a_model_forgets_a_task_that_is_gone(tmp_path: Path) -> None:
    model, task, states = open_task(tmp_path)
    kept = weakref.ref(model.states(task))
    model.states(task).rows(states)
    del task, states
    gc.collect()
    assert kept() is None


def test_an_object_of_an_unknown_type_is_refused(tmp_path: Path) -> None:
    domain, _ = drawn("blocksworld", 0)
    model = random_relational_model(tmp_path / "model", domain)
    other = PddlTask(*drawn("logistics", 0))
    with pytest.raises(UnsupportedError, match="knows no type"):
        model.states(other)
