"""What is not OCLGen's own idea helps every method that can use it, and none in the paper's profile."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from oclgen.interfaces import Action, Rollout, State
from oclgen.search import METHODS
from oclgen.search.anytime import Ending, SearchResult
from oclgen.search.settings import Settings
from tests.search.running import solve
from tests.toy import (
    DigraphTask,
    NumberLine,
    RandomHeuristic,
    ScriptedPolicy,
    TableHeuristic,
    WanderingPolicy,
    distances,
    optimal_length,
    random_digraph,
    replays_to_goal,
    steps,
)

SAMPLING = ["best-of-n", "mcts", "mcts-partial"]
BEST_FIRST = ["astar", "gbfs"]


def settings(method: str, **values: Any) -> Settings:
    return replace(METHODS[method].settings, **values)


def lengths(result: SearchResult) -> list[int]:
    return [length for _, length in result.trace]


# The actions "go 1" and "go 2" of the plan 0-1-2-3-4 are not needed, and no rollout takes the transition 0-3.
DETOUR = DigraphTask({0: (1, 3), 1: (2,), 2: (3,), 3: (4,)}, frozenset({4}))
DETOUR_PLAN = {0: [steps("go 1", "go 2", "go 3", "go 4")]}


@pytest.mark.parametrize("help_with", ["eliminate", "shortcut"])
@pytest.mark.parametrize("method", SAMPLING)
def test_a_sampled_plan_is_shortened(method: str, help_with: str) -> None:
    for on, expected in ((False, [4]), (True, [4, 2])):
        chosen = settings(method, samples=1, **{help_with: on})
        result = solve(DETOUR, ScriptedPolicy(DETOUR_PLAN), RandomHeuristic(), chosen, method=method, iterations=1)
        assert lengths(result) == expected
        assert result.counters.generated == 0  # by the search itself


@pytest.mark.parametrize("method", SAMPLING)
def test_two_rollouts_are_joined_where_they_meet(method: str) -> None:
    """The plan is 0-1-2-3-9; another rollout leaves it at 0, comes back to it sooner, by 7-3, and fails."""
    task = DigraphTask({0: (1, 7), 1: (2,), 2: (3,), 3: (9,), 7: (3,)}, frozenset({9}))
    script = {0: [steps("go 1", "go 2", "go 3", "go 9"), steps("go 7", "go 3", "go 8")]}
    for shortcut, expected in ((False, [4]), (True, [3])):
        chosen = settings(method, shortcut=shortcut, samples=2)
        result = solve(task, ScriptedPolicy(script), RandomHeuristic(), chosen, method=method, iterations=1)
        assert lengths(result) == expected


def test_mcts_joins_a_rollout_from_inside_the_tree_to_what_it_has_seen() -> None:
    """The root's rollout is 0-1-2-3-9. The rollout from 7, a child of the root, ends at 3 and is no plan by itself."""
    task = DigraphTask({0: (1, 7), 1: (2,), 2: (3,), 3: (9,), 7: (3,)}, frozenset({9}))
    script = {0: [steps("go 1", "go 2", "go 3", "go 9")], 7: [steps("go 3")]}
    priors: dict[int, dict[Action, float]] = {0: {("go", "7"): 5.0}}
    for shortcut, expected in ((False, [4]), (True, [4, 3])):
        chosen = settings("mcts", shortcut=shortcut, samples=1)
        policy = ScriptedPolicy(script, priors)
        result = solve(task, policy, RandomHeuristic(), chosen, method="mcts", iterations=2)
        assert lengths(result) == expected


class Lamp:
    """Walk from 0 to 3; a lamp can be switched on and off, which is no use. In the dark one may jump from 1 to 3."""

    initial_state: State = (0, False)
    ground_action_bound = 3

    def is_goal(self, state: State) -> bool:
        return state in {(3, False), (3, True)}

    def applicable(self, state: State) -> Sequence[Action]:
        return [action for action in (("walk",), ("switch",), ("jump",)) if self.apply(state, action) is not None]

    def apply(self, state: State, action: Action) -> State | None:
        assert isinstance(state, tuple)
        place, lit = state
        reached: dict[Action, State] = {("switch",): (place, not lit), ("walk",): (place + 1, lit)}
        if state == (1, False):
            reached[("jump",)] = (3, False)
        return reached.get(action)


LIGHT_IS_BETTER = {(place, lit): (1.0 if lit else 20.0) for place in range(3) for lit in (False, True)}


@pytest.mark.parametrize("method", BEST_FIRST)
def test_best_first_search_shortens_its_plans(method: str) -> None:
    """Four expansions find a plan with the lamp on. Without switching it on, the plan passes where one may jump."""
    for helps, expected in (({}, [4]), ({"eliminate": True}, [4, 3]), ({"eliminate": True, "shortcut": True}, [4, 2])):
        chosen = settings(method, **helps)
        result = solve(Lamp(), None, TableHeuristic(LIGHT_IS_BETTER), chosen, method=method, iterations=4)
        assert lengths(result) == expected


@pytest.mark.parametrize("method", BEST_FIRST)
def test_best_first_search_evaluates_the_states_of_a_shortened_plan_when_it_meets_them(method: str) -> None:
    heuristic = TableHeuristic(LIGHT_IS_BETTER)
    result = solve(Lamp(), None, heuristic, settings(method, eliminate=True), method=method)
    asked = [state for batch in heuristic.asked for state in batch]
    assert (1, False) in asked and len(asked) == len(set(asked))
    assert (result.ending, result.plan) == (Ending.EXHAUSTED, (("walk",), ("jump",)))


@pytest.mark.parametrize("method", SAMPLING)
def test_no_rollout_is_longer_than_what_can_still_give_a_shorter_plan(method: str) -> None:
    line = NumberLine(goal=6, size=30, stride=20)
    script: dict[int, list[Rollout]] = {place: [steps(*["up"] * 20)] for place in range(20)}
    for prune in (False, True):
        policy = ScriptedPolicy(script)
        chosen = settings(method, prune=prune, samples=1)
        solve(line, policy, RandomHeuristic(), chosen, method=method, iterations=5)
        asked: list[Any] = [(call["states"], call["max_actions"]) for call in policy.calls]
        assert asked[0] == ([0], None)
        for [state], limit in asked[1:]:
            assert limit == (5 - distances(line)[state] if prune else None)


def test_pruned_mcts_proves_that_no_shorter_plan_exists_without_the_rest_of_the_tree() -> None:
    """The goal is three steps away; below depth two there are far more nodes than iterations."""
    line = NumberLine(goal=3, size=10_000, stride=7)
    script: dict[int, list[Rollout]] = {0: [steps("up", "up", "up")]}
    for prune, ending in ((False, Ending.ITERATIONS), (True, Ending.EXHAUSTED)):
        chosen = settings("mcts", prune=prune)
        result = solve(line, ScriptedPolicy(script), RandomHeuristic(), chosen, method="mcts", iterations=60)
        assert (result.plan, result.ending) == ((("up",),) * 3, ending)


def test_best_of_n_stops_at_a_plan_of_one_action() -> None:
    policy = ScriptedPolicy({0: [steps("leap")]})
    chosen = settings("best-of-n", prune=True)
    result = solve(NumberLine(goal=5), policy, None, chosen, method="best-of-n", iterations=9)
    assert (result.ending, result.counters.iterations) == (Ending.EXHAUSTED, 1)


@pytest.mark.parametrize("method", ["best-of-n", "mcts"])
def test_in_the_extended_profile_a_chain_of_short_rollouts_covers_a_long_plan(method: str) -> None:
    line = NumberLine(goal=200, size=300, stride=299)
    for profile in ("paper", "extended"):
        policy = ScriptedPolicy({place: [steps(*["up"] * 5)] for place in range(200)})
        chosen = METHODS[method].in_profile(profile)
        result = solve(line, policy, RandomHeuristic(), chosen, method=method, iterations=1)
        assert (result.plan is not None) == (profile == "extended")


def test_partial_rollouts_are_chained_in_no_profile() -> None:
    for profile in ("paper", "extended"):
        policy = ScriptedPolicy({place: [steps("up", "up")] for place in range(20)})
        chosen = METHODS["mcts-partial"].in_profile(profile)
        solve(NumberLine(), policy, RandomHeuristic(), chosen, method="mcts-partial", iterations=1)
        assert [(call["states"], call["max_tokens"]) for call in policy.calls] == [([0], 50)]


@pytest.mark.parametrize("method", ["mcts", "mcts-partial"])
def test_mcts_passes_through_forced_states(method: str) -> None:
    """From 0 one corridor leads over 1, 2 to the choice 3, another over 5 to the goal 9."""
    task = DigraphTask({0: (1, 5), 1: (2,), 2: (3,), 3: (0, 1), 5: (9,)}, frozenset({9}))
    priors: dict[int, dict[Action, float]] = {0: {("go", "1"): 5.0}}
    for pass_through, asked in ((False, [0, 1, 5]), (True, [0, 3])):
        policy = ScriptedPolicy({}, priors)
        chosen = settings(method, pass_through=pass_through, samples=1)
        result = solve(task, policy, RandomHeuristic(), chosen, method=method, iterations=3)
        assert [call["states"] for call in policy.calls] == [[state] for state in asked]
        assert result.plan == ((("go", "5"), ("go", "9")) if pass_through else None)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_extended_profile_helps_every_method_with_elimination_and_shortcuts(method: str) -> None:
    for profile, helped in (("paper", False), ("extended", True)):
        chosen: Any = METHODS[method].in_profile(profile)
        assert (chosen.eliminate, chosen.shortcut) == (helped, helped)
        if method not in BEST_FIRST:  # these never look deeper than their incumbent
            assert chosen.prune is helped


@pytest.mark.parametrize("method", sorted(METHODS))
def test_with_all_helps_plans_are_valid_and_exhaustion_is_claimed_only_when_it_is_true(method: str) -> None:
    passing = {} if method == "best-of-n" else {"pass_through": True}
    chosen = replace(METHODS[method].in_profile("extended"), **passing)
    iterations = 10 if method == "best-of-n" else 400
    for seed in range(40):
        task = random_digraph(random.Random(700 + seed), 9, 12 + seed % 8, goals=1)
        result = solve(
            task, WanderingPolicy(), RandomHeuristic(seed), chosen, method=method, iterations=iterations, seed=seed
        )
        assert lengths(result) == sorted(set(lengths(result)), reverse=True)
        assert result.plan is None or replays_to_goal(task, result.plan)
        if result.ending is Ending.EXHAUSTED:
            assert (None if result.plan is None else len(result.plan)) == optimal_length(task)
        else:
            assert method == "best-of-n"
