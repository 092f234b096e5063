"""Rollouts end where they must, carry their confidence, and depend on the seed alone."""

import random
from typing import Any

import pytest

from oclgen.encoding.vocabulary import END
from oclgen.errors import InputError, UnsupportedError
from oclgen.inference import policy as policy_module
from oclgen.inference.checkpoint_policy import checkpoint_policy
from oclgen.inference.policy import ModelPolicy
from oclgen.interfaces import Action, Rollout
from oclgen.pddl.task import PddlTask
from tests.inference.scripted import BLOCKS, DOMAIN, Script, ScriptedEngine, blocks_task, one_path, tokens
from tests.inference.words.models import random_checkpoint

PLAN: list[Action] = [("pickup", "b2"), ("stack", "b2", "b3"), ("pickup", "b1"), ("stack", "b1", "b2")]
CHECKPOINT = random_checkpoint("policy", vocabulary=BLOCKS)


def scripted(script: Script, max_plan: int = 50, **options: Any) -> tuple[ModelPolicy, ScriptedEngine]:
    engine = ScriptedEngine(script, max_plan)
    return checkpoint_policy(CHECKPOINT, engine=engine, **options), engine


def one_rollout(script: Script, task: PddlTask | None = None, max_plan: int = 50, **options: Any) -> Rollout:
    task = task or blocks_task()
    policy, _ = scripted(script, max_plan)
    ((rollout,),) = policy.rollouts(task, [task.initial_state], 1, random.Random(0), **options)
    return rollout


def actions(rollout: Rollout) -> list[Action]:
    return [step.action for step in rollout]


def test_a_rollout_ends_at_the_goal() -> None:
    assert actions(one_rollout(one_path(tokens(*PLAN, ("pickup", "b3"))))) == PLAN


def test_a_rollout_ends_before_its_first_inapplicable_action() -> None:
    assert actions(one_rollout(one_path(tokens(PLAN[0], ("pickup", "b1"), PLAN[1])))) == PLAN[:1]


def test_a_rollout_ends_at_the_end_token() -> None:
    assert actions(one_rollout(one_path([*tokens(PLAN[0]), END, *tokens(PLAN[1])]))) == PLAN[:1]


@pytest.mark.parametrize(
    "mistake",
    [tokens(("b1",)), tokens(("pickup", "pickup")), [BLOCKS.first_predicate], [BLOCKS.object_ids["b5"]]],
    ids=["object for an operator", "operator for an object", "predicate", "object that the task does not have"],
)
def test_tokens_that_form_no_action_end_a_rollout(mistake: list[int]) -> None:
    assert actions(one_rollout(one_path([*tokens(PLAN[0]), *mistake, *tokens(PLAN[1])]))) == PLAN[:1]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 0), (2, 1), (4, 1), (5, 2), (10, 4)])
def test_an_action_unfinished_at_the_token_limit_is_dropped(limit: int, count: int) -> None:
    assert actions(one_rollout(one_path(tokens(*PLAN)), max_tokens=limit)) == PLAN[:count]


def test_the_models_own_positions_limit_a_rollout() -> None:
    assert actions(one_rollout(one_path(tokens(*PLAN)), max_plan=5)) == PLAN[:2]
    assert actions(one_rollout(one_path(tokens(*PLAN)), max_plan=5, max_tokens=100)) == PLAN[:2]


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_rollout_ends_at_the_limit_of_actions(limit: int) -> None:
    assert actions(one_rollout(one_path(tokens(*PLAN)), max_actions=limit)) == PLAN[:limit]


def test_confidence_is_the_lowest_token_probability_of_each_action() -> None:
    path = tokens(*PLAN[:2])
    odds = [0.9, 0.8, 0.7, 0.95, 0.99]
    rollout = one_rollout(lambda history: {path[len(history)]: odds[len(history)]}, max_tokens=5)
    assert actions(rollout) == PLAN[:2]
    assert [step.confidence for step in rollout] == pytest.approx([0.8, 0.7])


def test_goal_states_give_empty_rollouts_without_asking_the_engine() -> None:
    task = blocks_task("(clear b1)")
    policy, engine = scripted(one_path(tokens(*PLAN)))
    assert policy.rollouts(task, [task.initial_state], 3, random.Random(0)) == [[(), (), ()]]
    assert engine.batches == [] and policy.tokens == 0


def test_each_state_gets_its_own_samples_and_finished_ones_leave_the_batch() -> None:
    task = blocks_task()
    lifted = task.apply(task.initial_state, PLAN[0])
    policy, engine = scripted(one_path(tokens(*PLAN)))
    first, second = policy.rollouts(task, [task.initial_state, lifted], 2, random.Random(0))
    assert [actions(rollout) for rollout in first] == [PLAN, PLAN]
    assert second == [(), ()], "the hand is full there, so the path's first action is not applicable"
    assert engine.batches == [4, 4, *[2] * 8]
    assert policy.tokens == sum(engine.batches)


def test_more_samples_than_fit_one_batch_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_module, "MAX_ROWS", 3)
    task = blocks_task()
    policy, engine = scripted(one_path(tokens(*PLAN)))
    result = policy.rollouts(task, [task.initial_state] * 2, 4, random.Random(0), max_actions=1)
    assert [[actions(rollout) for rollout in group] for group in result] == [[PLAN[:1]] * 4] * 2
    assert engine.batches == [3, 3, 1, 1, 3, 3, 1, 1]


def test_no_states_and_no_samples_are_no_work() -> None:
    task = blocks_task()
    policy, engine = scripted(one_path(tokens(*PLAN)))
    assert policy.rollouts(task, [], 4, random.Random(0)) == []
    assert policy.rollouts(task, [task.initial_state], 0, random.Random(0)) == [[]]
    assert engine.batches == []


def test_what_is_finished_when_told_to_stop_is_returned() -> None:
    asked: list[None] = []

    def should_stop() -> bool:
        asked.append(None)
        return len(asked) > 6

    rollout = one_rollout(one_path(tokens(*PLAN)), should_stop=should_stop)
    assert 0 < len(rollout) < len(PLAN)
    assert actions(rollout) == PLAN[: len(rollout)]


def test_restricted_decoding_proposes_applicable_actions_only() -> None:
    task = blocks_task()
    policy = checkpoint_policy(CHECKPOINT, decoding="applicable")
    (group,) = policy.rollouts(task, [task.initial_state], 20, random.Random(0), max_tokens=30)
    for rollout in group:
        state = task.initial_state
        for step in rollout:
            state = task.apply(state, step.action)
            assert state is not None
            assert 0.0 < step.confidence <= 1.0
        assert sum(len(step.action) for step in rollout) > 27 or task.is_goal(state)


def test_restricted_confidence_is_renormalised_over_what_may_come() -> None:
    task = blocks_task()
    policy, _ = scripted(one_path(tokens(*PLAN), 0.5), decoding="applicable")
    ((rollout,),) = policy.rollouts(task, [task.initial_state], 1, random.Random(0))
    assert actions(rollout) == PLAN
    assert all(step.confidence > 0.99 for step in rollout)


def test_tokens_that_must_follow_are_read_without_sampling() -> None:
    """With a hand full, only the block in it can be put down or stacked; with an empty one nothing is put down."""
    task = blocks_task()
    policy, engine = scripted(one_path(tokens(*PLAN)), decoding="applicable")
    ((rollout,),) = policy.rollouts(task, [task.initial_state], 1, random.Random(0))
    assert actions(rollout) == PLAN
    assert policy.tokens == len(tokens(*PLAN))
    free, free_engine = scripted(one_path(tokens(*PLAN)))
    free.rollouts(task, [task.initial_state], 1, random.Random(0))
    assert len(free_engine.batches) == len(tokens(*PLAN))
    assert len(engine.batches) < len(free_engine.batches) - 2


@pytest.mark.parametrize("limit", range(1, 11))
def test_a_token_limit_holds_where_tokens_are_forced(limit: int) -> None:
    task = blocks_task()
    policy, _ = scripted(one_path(tokens(*PLAN)), decoding="applicable")
    ((rollout,),) = policy.rollouts(task, [task.initial_state], 1, random.Random(0), max_tokens=limit)
    whole = [action for i, action in enumerate(PLAN) if len(tokens(*PLAN[: i + 1])) <= limit]
    assert actions(rollout) == whole and policy.tokens == limit


def test_rollouts_depend_on_the_seed_alone() -> None:
    task = blocks_task()
    policy = checkpoint_policy(CHECKPOINT, decoding="applicable")

    def sample(seed: int) -> list[list[Rollout]]:
        return policy.rollouts(task, [task.initial_state], 5, random.Random(seed), max_tokens=20)

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)


def test_free_rollouts_of_the_network_are_applicable_as_far_as_they_go() -> None:
    task = blocks_task()
    policy = checkpoint_policy(random_checkpoint("policy", vocabulary=BLOCKS, seed=5))
    (group,) = policy.rollouts(task, [task.initial_state], 300, random.Random(0))
    assert any(group)
    for rollout in group:
        state = task.initial_state
        for step in rollout:
            state = task.apply(state, step.action)
            assert state is not None


def test_priors_are_normalised_geometric_means_of_token_probabilities() -> None:
    task = blocks_task()
    pickup, stack, b1, b2, b3 = tokens(("pickup", "stack", "b1", "b2", "b3"))
    table = {
        (): {pickup: 0.5, stack: 0.2},
        (pickup,): {b1: 0.4, b2: 0.1},
        (stack,): {b1: 0.9},
        (stack, b1): {b2: 0.3, b3: 0.6},
    }
    policy, _ = scripted(lambda history: table[history])
    asked = [("stack", "b1", "b3"), ("pickup", "b1"), ("stack", "b1", "b2"), ("pickup", "b2")]
    means = [(0.2 * 0.9 * 0.6) ** (1 / 3), (0.5 * 0.4) ** 0.5, (0.2 * 0.9 * 0.3) ** (1 / 3), (0.5 * 0.1) ** 0.5]
    assert policy.priors(task, task.initial_state, asked) == pytest.approx([mean / sum(means) for mean in means])
    assert policy.tokens == 1 + 2 + 1, "one row per distinct prefix that something follows"


def test_priors_do_not_depend_on_the_order_or_number_of_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    task = blocks_task()
    state = task.apply(task.initial_state, PLAN[0])
    asked = task.applicable(state)
    policy = checkpoint_policy(CHECKPOINT)
    priors = policy.priors(task, state, asked)
    monkeypatch.setattr("oclgen.inference.priors.MAX_ACTIONS", 2)
    assert policy.priors(task, state, asked[::-1]) == pytest.approx(priors[::-1])
    assert sum(priors) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("option", "value"), [("decoding", "greedy"), ("temperature", -1.0), ("temperature", float("nan"))]
)
def test_impossible_options_are_refused(option: str, value: object) -> None:
    with pytest.raises(InputError, match=option):
        checkpoint_policy(CHECKPOINT, **{option: value})  # type: ignore[arg-type]


def test_a_checkpoint_of_the_other_kind_is_refused() -> None:
    with pytest.raises(InputError, match="a policy is needed"):
        checkpoint_policy(random_checkpoint("heuristic"))


def many_blocks(count: int) -> PddlTask:
    names = [f"x{i}" for i in range(count)]
    facts = " ".join(f"(clear {name}) (on-table {name})" for name in names)
    text = f"(:objects {' '.join(names)}) (:init (arm-empty) {facts}) (:goal (on x0 x1))"
    return PddlTask(DOMAIN, f"(define (problem many) (:domain blocksworld-4ops) {text})")


def test_tasks_beyond_the_vocabulary_are_refused() -> None:
    task = many_blocks(6)
    with pytest.raises(UnsupportedError, match="at most 5"):
        checkpoint_policy(CHECKPOINT).rollouts(task, [task.initial_state], 1, random.Random(0))


def test_an_initial_state_too_long_for_a_model_of_words_is_refused() -> None:
    task = many_blocks(5)
    checkpoint = random_checkpoint("policy", vocabulary=BLOCKS, max_prompt=20)
    with pytest.raises(UnsupportedError, match="at most 20"):
        checkpoint_policy(checkpoint).rollouts(task, [task.initial_state], 1, random.Random(0))


def test_a_later_state_too_long_for_a_model_of_words_has_no_rollouts() -> None:
    task = blocks_task(held="b3")
    fuller = task.apply(task.initial_state, ("putdown", "b3"))
    checkpoint = random_checkpoint("policy", vocabulary=BLOCKS, max_prompt=18)
    policy = checkpoint_policy(checkpoint)
    assert policy.rollouts(task, [fuller], 2, random.Random(0)) == [[(), ()]]
    assert policy.priors(task, fuller, [("pickup", "b1"), ("pickup", "b2")]) == [0.5, 0.5]


def test_a_call_may_restrict_a_policy_that_decodes_freely() -> None:
    task = blocks_task()
    policy, _ = scripted(one_path(tokens(*PLAN), 0.7))
    [free] = policy.rollouts(task, [task.initial_state], 30, random.Random(0))
    [restricted] = policy.rollouts(task, [task.initial_state], 30, random.Random(0), restricted=True)
    assert any(actions(rollout) != PLAN for rollout in free)
    assert all(actions(rollout) == PLAN for rollout in restricted)
