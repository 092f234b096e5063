"""Whole rollouts of a policy that writes windows: each window begins where the last one ended, with a fresh prompt."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from oclgen.encoding.vocabulary import END
from oclgen.inference import policy as policies
from oclgen.inference.checkpoint_policy import checkpoint_policy
from oclgen.inference.engine import IntArray
from oclgen.inference.policy import ModelPolicy
from oclgen.interfaces import Action, Rollout
from oclgen.loaded_model import LoadedModel, ModelUse
from oclgen.model_folders import PRETRAINED
from oclgen.pddl.task import PddlTask
from tests.inference.scripted import Script, ScriptedEngine, ScriptedSession, blocks_task, one_path, tokens
from tests.inference.test_action_sampling import NoActions
from tests.inference.test_policy import CHECKPOINT, PLAN, actions
from tests.pddl.samples import SMALL, drawn


class Windows(ScriptedEngine):
    """A script for each window; `rows` are those of each window."""

    def __init__(self, scripts: Sequence[Script], max_plan: int) -> None:
        super().__init__(scripts[0], max_plan)
        self.scripts = list(scripts)
        self.rows: list[int] = []

    def open(self, prompts: Sequence[IntArray], rows: Sequence[int], capacity: int) -> ScriptedSession:
        self.script = self.scripts.pop(0)
        self.rows.append(sum(rows))
        return super().open(prompts, rows, capacity)


def sampled(windows: Sequence[Sequence[int]], max_plan: int, whole: bool = True, **limits: Any) -> list[Action]:
    task = blocks_task()
    engine = Windows([one_path(window) for window in windows], max_plan)
    policy = checkpoint_policy(CHECKPOINT, engine=engine, whole=whole)
    ((rollout,),) = policy.rollouts(task, [task.initial_state], 1, random.Random(0), **limits)
    return actions(rollout)


def test_a_whole_rollout_goes_on_after_its_window_to_the_goal() -> None:
    windows = [tokens(*PLAN[:2]), tokens(*PLAN[2:])]
    assert sampled(windows, max_plan=5) == PLAN
    assert sampled(windows, max_plan=5, whole=False) == PLAN[:2]


def test_an_action_that_the_window_cuts_off_is_begun_anew() -> None:
    windows = [tokens(*PLAN[:2]), tokens(*PLAN[1:3]), tokens(*PLAN[2:]), tokens(*PLAN[3:])]
    assert sampled(windows, max_plan=4) == PLAN


@pytest.mark.parametrize(
    "end",
    [[END, *tokens(("pickup", "b1"))], tokens(("pickup", "b2"), ("pickup", "b1")), tokens(("b1",), ("b2",), ("b3",))],
    ids=["end token", "inapplicable action", "no action"],
)
def test_what_ends_a_rollout_ends_a_whole_one(end: list[int]) -> None:
    windows = [tokens(*PLAN[:2]), end]
    assert sampled(windows, max_plan=5) == PLAN[:2]


@pytest.mark.parametrize(("limit", "count"), [(5, 2), (6, 2), (7, 3), (9, 3), (10, 4)])
def test_the_token_limit_is_that_of_all_windows(limit: int, count: int) -> None:
    assert sampled([tokens(*PLAN[:2]), tokens(*PLAN[2:])], max_plan=5, max_tokens=limit) == PLAN[:count]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_limit_of_actions_is_that_of_all_windows(limit: int) -> None:
    assert sampled([tokens(*PLAN[:2]), tokens(*PLAN[2:])], max_plan=5, max_actions=limit) == PLAN[:limit]


def test_without_a_limit_a_rollout_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "WHOLE_PLAN", 40)
    up_and_down = tokens(("pickup", "b1"), ("putdown", "b1"))
    assert len(sampled([up_and_down] * 11, max_plan=4)) == 20


def test_only_rollouts_that_fill_their_window_go_on() -> None:
    task = blocks_task()
    held = task.apply(task.initial_state, PLAN[0])
    engine = Windows([one_path(tokens(*PLAN[:2])), one_path(tokens(*PLAN[2:]))], 5)
    policy = checkpoint_policy(CHECKPOINT, engine=engine, whole=True)
    first, second = policy.rollouts(task, [task.initial_state, held], 2, random.Random(0))
    assert [actions(rollout) for rollout in first] == [PLAN, PLAN]
    assert second == [(), ()]
    assert engine.rows == [4, 2]


def test_what_should_stop_stops_between_windows() -> None:
    task = blocks_task()
    engine = Windows([one_path(tokens(*PLAN[:2]))], 5)
    policy = checkpoint_policy(CHECKPOINT, engine=engine, whole=True)
    asked: list[None] = []

    def should_stop() -> bool:
        asked.append(None)
        return len(asked) > 6

    ((rollout,),) = policy.rollouts(task, [task.initial_state], 1, random.Random(0), should_stop=should_stop)
    assert actions(rollout) == PLAN[:2]


@pytest.mark.parametrize("domain", SMALL)
def test_windows_of_whole_actions_are_those_of_their_tokens(domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = PddlTask(*drawn(domain, 0))
    policy = LoadedModel(PRETRAINED / domain).policy(ModelUse())
    monkeypatch.setattr(ModelPolicy, "_windows", lambda self, max_tokens: iter([9] * 8))

    def sample() -> list[list[Rollout]]:
        return policy.rollouts(task, [task.initial_state], 20, random.Random(5))

    by_actions = sample()
    monkeypatch.setattr(policies, "ActionEngine", NoActions)
    assert by_actions == sample()
    assert any(sum(len(step.action) for step in rollout) > 9 for group in by_actions for rollout in group)
