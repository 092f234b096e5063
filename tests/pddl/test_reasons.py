"""What a plan needs: wherever it holds, the plan works."""

import random
from dataclasses import replace

import pytest

from oclgen.interfaces import Plan
from oclgen.pddl.checking.evaluation import advance, holds
from oclgen.pddl.checking.reasons import needed
from oclgen.pddl.checking.validate import Validator
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.reading.conditions import Condition, Literal, negated
from oclgen.pddl.task import PddlTask
from tests.pddl.adl_samples import SATCHEL
from tests.pddl.random_adl import random_adl
from tests.pddl.samples import random_walk

MOST_STATES = 30


def reached(task: PddlTask) -> list[frozenset[tuple[str, ...]]]:
    """Some reachable states, as facts."""
    seen = [task.initial_state]
    for state in seen:
        for action in task.applicable(state):
            after = task.apply(state, action)
            if after not in seen and len(seen) < MOST_STATES:
                seen.append(after)
    return [frozenset(task.atoms(state)) | task.static_atoms for state in seen]


def works(info: ProblemInfo, state: frozenset[tuple[str, ...]], plan: Plan) -> bool:
    return Validator.of(replace(info, init=state)).check(plan).valid


@pytest.mark.parametrize("seed", range(80))
def test_a_plan_works_in_every_state_that_has_what_it_needs(seed: int) -> None:
    rng = random.Random(seed)
    task = PddlTask(*random_adl(rng))
    steps = list(random_walk(task, 3, rng))
    plan = tuple(action for _, action in steps)
    end = set(task.info.init)
    for action in plan:
        advance(task.info, end, action)
    goal: Condition = task.info.goal_condition
    if not holds(goal, end, {}, task.info.listed):
        goal = negated(goal)
    info = replace(task.info, goal_condition=goal)
    wanted = needed(info, info.init, plan)
    states = reached(task)
    for state in states:
        if all((literal.atom in state) is literal.positive for literal in wanted):
            assert works(info, state, plan)
    assert all((literal.atom in info.init) is literal.positive for literal in wanted)


def test_a_conditional_effect_needs_its_condition_only_where_it_matters() -> None:
    problem = """(define (problem q) (:domain satchel) (:objects p1 - place a b - item)
      (:init (bag-at p1) (at a p1) (at b p1) (in a)) (:goal (or (at a home) (at b home))))"""
    info = PddlTask(SATCHEL, problem).info
    plan = (("carry", "p1", "home"),)
    assert needed(info, info.init, plan) == {Literal(("bag-at", "p1"), True), Literal(("in", "a"), True)}
