"""The sieve on facts agrees with the task, and changes nothing in what elimination and shortcuts find."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from oclgen.domains import catalog
from oclgen.interfaces import Action, State, Task
from oclgen.pddl.task import PddlTask
from oclgen.search.anytime import Counters
from oclgen.search.extensions.elimination import eliminate_actions
from oclgen.search.extensions.facts import KnownStates, changes
from oclgen.search.graph import ROOT, SearchGraph
from tests.pddl.random_domains import random_domain
from tests.pddl.samples import random_walk

DOMAINS = ("blocksworld", "logistics", "labyrinth", "sokoban")


class WithoutFacts:
    """A task whose states are opaque."""

    def __init__(self, task: PddlTask) -> None:
        self._task = task

    initial_state = property(lambda self: self._task.initial_state)
    ground_action_bound = property(lambda self: self._task.ground_action_bound)

    def is_goal(self, state: State) -> bool:
        return self._task.is_goal(state)

    def applicable(self, state: State) -> Sequence[Action]:
        return self._task.applicable(state)

    def apply(self, state: State, action: Action) -> State | None:
        return self._task.apply(state, action)


def small_task(name: str, seed: int) -> PddlTask:
    spec = catalog.load(name)
    sizes: dict[str, list[str]] = {
        "blocksworld": ["blocks=3..5"],
        "logistics": ["cities=1..3", "packages=1..3", "airplanes=1..2"],
        "labyrinth": ["size=3..3"],
        "sokoban": ["grid=5..6", "boxes=1..2"],
    }
    return PddlTask(spec.domain_text, catalog.draw(spec, seed, 0, catalog.overrides(spec, sizes[name])).text)


@pytest.mark.parametrize("seed", range(40))
def test_actions_change_facts_as_they_change_states(seed: int) -> None:
    rng = random.Random(seed)
    task = PddlTask(*random_domain(rng))
    for state, _ in random_walk(task, 6, rng):
        facts = task.facts(state)
        for action in task.applicable(state):
            ground = task.ground(action)
            added, deleted = changes(ground, facts)
            assert ground.needed <= facts and ground.forbidden.isdisjoint(facts)
            assert (facts - deleted) | added == task.facts(task.apply(state, action))


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("seed", range(6))
def test_elimination_finds_the_same_with_and_without_facts(name: str, seed: int) -> None:
    task, rng = small_task(name, seed), random.Random(seed)
    actions = [action for _, action in random_walk(task, 25, rng)]
    plan = (*actions, *continuation(task, actions))
    opaque: Task = WithoutFacts(task)
    assert eliminate_actions(task, plan, lambda: False) == eliminate_actions(opaque, plan, lambda: False)


def continuation(task: PddlTask, actions: Sequence[Action]) -> tuple[Action, ...]:
    """Actions to a goal from where `actions` lead; none if there is no plan."""
    return next(task.shortest_plans([tuple(actions)], seconds=5.0)) or ()


@pytest.mark.parametrize("name", DOMAINS)
def test_candidates_are_the_actions_to_known_states_and_goals(name: str) -> None:
    task, rng = small_task(name, 3), random.Random(3)
    graph = SearchGraph(task.initial_state, task.is_goal, Counters())
    known = KnownStates(task, graph)
    for _ in range(12):
        node = ROOT
        for _, action in random_walk(task, 15, rng):
            state: Any = task.apply(graph.state(node), action)
            node = graph.add(node, action, state, 0.0, evaluated=False)
        for each in range(len(graph)):
            state = graph.state(each)
            wanted = [action for action in task.applicable(state) if leads_on(task, graph, state, action)]
            assert list(known.candidates(state, task.applicable(state))) == wanted


def test_no_states_are_read_when_the_time_is_up() -> None:
    task = small_task("blocksworld", 3)
    graph = SearchGraph(task.initial_state, task.is_goal, Counters())
    action, *_ = task.applicable(task.initial_state)
    graph.add(ROOT, action, task.apply(task.initial_state, action), 0.0, evaluated=False)
    assert list(KnownStates(task, graph).candidates(task.initial_state, [action])) == [action]
    assert not list(KnownStates(task, graph, lambda: True).candidates(task.initial_state, [action]))


def leads_on(task: PddlTask, graph: SearchGraph, state: State, action: Action) -> bool:
    successor = task.apply(state, action)
    return successor != state and (graph.find(successor) is not None or task.is_goal(successor))
