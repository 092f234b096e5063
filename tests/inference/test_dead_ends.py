"""Decoding what is viable does not walk into dead ends that it could have seen coming."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oclgen.encoding.vocabulary import build_vocabulary
from oclgen.inference.checkpoint_policy import checkpoint_policy
from oclgen.inference.policy import ModelPolicy
from oclgen.inference.rollout import DEAD, Grammar, offered
from oclgen.interfaces import Rollout, State
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask
from tests.inference.words.models import random_checkpoint

DOMAIN = """(define (domain roads) (:requirements :strips :typing) (:types place)
  (:predicates (at ?x - place) (road ?x ?y - place))
  (:action go :parameters (?x ?y - place) :precondition (and (at ?x) (road ?x ?y))
    :effect (and (at ?y) (not (at ?x)))))"""
POOL = {"types": ["place"], "names": ["p{0..9}"], "meaningful": False}
VOCABULARY = build_vocabulary(read_domain(DOMAIN), {"pool": [POOL]})
Road = tuple[int, int]


def roads_task(*roads: Road, goal: int = 9) -> PddlTask:
    facts = " ".join(f"(road p{x} p{y})" for x, y in roads)
    return PddlTask(
        DOMAIN,
        f"(define (problem trip) (:domain roads) (:objects {' '.join(f'p{i}' for i in range(10))} - place)"
        f" (:init (at p0) {facts}) (:goal (at p{goal})))",
    )


def walker(seed: int = 0, decoding: str = "viable") -> ModelPolicy:
    checkpoint = random_checkpoint("policy", vocabulary=VOCABULARY, seed=seed)
    return checkpoint_policy(checkpoint, decoding=decoding)


def walks(policy: ModelPolicy, task: PddlTask, samples: int = 30, **limits: Any) -> list[Rollout]:
    return policy.rollouts(task, [task.initial_state], samples, random.Random(0), **limits)[0]


def end(task: PddlTask, rollout: Rollout) -> State:
    state = task.initial_state
    for step in rollout:
        state = task.apply(state, step.action)
        assert state is not None
    return state


def test_a_step_after_which_one_gets_stuck_is_taken_back() -> None:
    """From p0 to a trap at the end of a one-way road, or to the goal."""
    task = roads_task((0, 1), (1, 2), (2, 3), (0, 4), (4, 9))
    for rollout in walks(walker(), task):
        assert [step.action for step in rollout] == [("go", "p0", "p4"), ("go", "p4", "p9")]


def test_decoding_what_is_applicable_ends_where_one_gets_stuck() -> None:
    task = roads_task((0, 1), (1, 2), (2, 3), (0, 4), (4, 9))
    ends = {rollout[-1].action[-1] for rollout in walks(walker(decoding="applicable"), task)}
    assert ends == {"p3", "p9"}


def test_a_place_all_of_whose_ways_are_traps_is_a_trap_for_later_rollouts() -> None:
    task = roads_task((0, 1), (1, 2), (1, 3), (0, 4), (4, 9))
    policy = walker()
    walks(policy, task)
    assert all(task.is_goal(end(task, rollout)) for rollout in walks(policy, task))


def test_rollouts_from_where_one_is_stuck_already_are_empty() -> None:
    assert walks(walker(), roads_task((1, 2)), samples=3) == [(), (), ()]


def test_a_circle_of_forced_states_is_a_trap() -> None:
    task = roads_task((0, 1), (1, 2), (2, 3), (3, 1), (0, 9))
    for rollout in walks(walker(), task):
        assert [step.action for step in rollout] == [("go", "p0", "p9")]


def test_decoding_what_is_applicable_ends_where_forced_states_repeat() -> None:
    task = roads_task((0, 1), (1, 2), (2, 3), (3, 1), (0, 9))
    lengths = {len(rollout) for rollout in walks(walker(decoding="applicable"), task)}
    assert lengths == {1, 4}


def test_rollouts_from_inside_a_circle_of_forced_states_are_empty() -> None:
    assert walks(walker(), roads_task((0, 1), (1, 0)), samples=3) == [(), (), ()]


def test_a_circle_with_a_way_out_is_no_trap() -> None:
    task = roads_task((0, 1), (1, 2), (2, 0), (2, 9))
    rollouts = walks(walker(), task)
    assert any(task.is_goal(end(task, rollout)) for rollout in rollouts)
    assert any(len(rollout) > 3 for rollout in rollouts), "some go round first"


@given(
    roads=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=18).map(sorted),
    seed=st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_no_rollout_ends_in_a_dead_end_unless_there_was_no_choice(roads: list[Road], seed: int) -> None:
    task = roads_task(*roads)
    for rollout in walks(walker(seed), task, samples=8, max_tokens=12, max_actions=12):
        stop = end(task, rollout)
        choices = [task.applicable(end(task, rollout[:i])) for i in range(len(rollout))]
        if not task.is_goal(stop) and not task.applicable(stop):
            assert all(len(actions) == 1 for actions in choices)


def test_memory_of_states_begins_anew_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oclgen.inference.rollout.MAX_VISITED", 2)
    task = roads_task((0, 1), (1, 2), (0, 3), (3, 9))
    assert all(task.is_goal(end(task, rollout)) for rollout in walks(walker(), task))
    grammar = Grammar(task, {}, {}, lambda action: ())
    first = grammar.visit(task.initial_state)
    assert grammar.visit(task.initial_state) is first
    for place in ("p1", "p3"):
        state = task.apply(task.initial_state, ("go", "p0", place))
        grammar.visit(state)
    assert grammar.visit(task.initial_state) is not first


def test_memory_of_states_begins_anew_when_their_actions_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oclgen.inference.rollout.MAX_CHOICES", 2)
    task = roads_task((0, 1), (1, 2), (0, 3), (3, 9))
    grammar = Grammar(task, {}, {}, lambda action: (1, 2))
    first = grammar.visit(task.initial_state)
    second = task.apply(task.initial_state, ("go", "p0", "p1"))
    assert grammar.visit(second) is grammar.visit(second)
    assert len(first.applicable) == 2 and first.choices  # now there are two actions
    third = task.apply(task.initial_state, ("go", "p0", "p3"))
    grammar.visit(third)
    assert grammar.visit(task.initial_state) is not first


def test_dead_tokens_are_not_offered() -> None:
    assert offered({1: {}, 2: DEAD, 3: {4: {}}}) == [1, 3]
