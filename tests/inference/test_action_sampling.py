"""Free decoding action by action finds what free decoding token by token finds, on any number of threads."""

import random
from pathlib import Path
from typing import Any

import pytest

from oclgen.inference import policy as policies
from oclgen.inference.checkpoint_policy import relational_policy
from oclgen.inference.relational.encoded_states import RelationalModel
from oclgen.interfaces import Rollout
from oclgen.pddl.task import PddlTask
from tests.inference.relational.relational_models import random_walk
from tests.pddl.samples import SMALL, drawn
from tests.relational_folder import random_relational_model


class NoActions:
    """In place of the engines that sample whole actions: there are none."""


def sample(
    model: RelationalModel, task: PddlTask, temperature: float = 1.0, **limits: Any
) -> tuple[list[list[Rollout]], int]:
    policy = relational_policy(model, temperature=temperature)
    found = policy.rollouts(task, random_walk(task, 4), 13, random.Random(5), **limits)
    return found, policy.tokens


@pytest.mark.parametrize("limits", [{}, {"max_tokens": 1}, {"max_tokens": 4}, {"max_actions": 1}])
@pytest.mark.parametrize("domain", SMALL)
def test_actions_are_what_their_tokens_are(
    domain: str, limits: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, problem = drawn(domain, 0)
    task = PddlTask(text, problem)
    found = [sample(random_relational_model(tmp_path / str(i), text, i), task, **limits) for i in (1, 2, 3)]
    monkeypatch.setattr(policies, "ActionEngine", NoActions)
    expected = sample(random_relational_model(tmp_path / "tokens", text), task, **limits)
    assert found == [expected] * 3


def test_temperature_zero_takes_the_most_likely_action(tmp_path: Path) -> None:
    text, problem = drawn("blocksworld", 0)
    found, _ = sample(random_relational_model(tmp_path / "model", text), PddlTask(text, problem), temperature=0.0)
    assert all(len({tuple(rollout) for rollout in group}) == 1 for group in found)


def test_what_should_stop_stops(tmp_path: Path) -> None:
    text, problem = drawn("blocksworld", 0)
    model = random_relational_model(tmp_path / "model", text, 2)
    found, tokens = sample(model, PddlTask(text, problem), should_stop=lambda: True)
    assert tokens == 0 and not any(rollout for group in found for rollout in group)
