"""Prompts of words: exact, canonical, and laid out as documented."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oclgen.domains import catalog
from oclgen.encoding import Binding, Vocabulary, WordsEncoding, bind, build_vocabulary
from oclgen.encoding.vocabulary import BEGIN, GOAL, NOT
from oclgen.interfaces import Atom
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask
from tests.encoding.worlds import World, worlds

TOWERS = {"b1": "object", "b2": "object"}
TOWERS_STATE = [("on", "b1", "b2"), ("clear", "b1"), ("on-table", "b2"), ("arm-empty",)]
TOWERS_GOAL = ([("on", "b2", "b1")], [("holding", "b1")])


def blocksworld() -> Vocabulary:
    spec = catalog.load("blocksworld")
    return build_vocabulary(read_domain(spec.domain_text), spec.defaults.encoding.as_table())


Goal = tuple[frozenset[Atom], frozenset[Atom]]


def decoded(prompt: np.ndarray, binding: Binding) -> tuple[frozenset[Atom], Goal]:
    """The state and the goal that a prompt stands for."""
    words = prompt[:, 0].tolist()
    middle = words.index(GOAL)
    assert words[0] == BEGIN
    state, none = decoded_atoms(words[1:middle], binding)
    assert not none
    return state, decoded_atoms(words[middle + 1 :], binding)


def decoded_atoms(words: list[int], binding: Binding) -> Goal:
    """The atoms, and those that follow `<not>`."""
    vocabulary = binding.vocabulary
    found: tuple[set[Atom], set[Atom]] = (set(), set())
    while words:
        negative = words[0] == NOT
        words = words[negative:]
        predicate = vocabulary.predicates[words[0] - vocabulary.first_predicate]
        names = [binding.object[word] for word in words[1 : 1 + predicate.arity]]
        found[negative].add((predicate.name, *names))
        words = words[1 + predicate.arity :]
    return frozenset(found[0]), frozenset(found[1])


def texts(vocabulary: Vocabulary, ids: np.ndarray) -> list[str]:
    return [vocabulary.tokens[i] for i in ids.ravel()]


@given(world=worlds())
def test_decoding_a_prompt_gives_back_state_and_goal(world: World) -> None:
    encoding = WordsEncoding(world.vocabulary)
    binding = world.binding()
    prompt = encoding.prompt(world.state, world.goal, binding)
    assert prompt.dtype == np.int32
    assert prompt.shape[1] == 1
    assert decoded(prompt, binding) == (world.state, world.goal)


@given(world=worlds(), rng=st.randoms(use_true_random=False))
def test_equal_states_give_equal_prompts_in_any_order(world: World, rng: random.Random) -> None:
    encoding = WordsEncoding(world.vocabulary)
    shuffled = [sorted(atoms) for atoms in (world.state, *world.goal)]
    for atoms in shuffled:
        rng.shuffle(atoms)
    state, wanted, unwanted = shuffled
    again = encoding.prompt(state + state, (wanted, unwanted), world.binding())
    assert np.array_equal(encoding.prompt(world.state, world.goal, world.binding()), again)


@given(world=worlds())
def test_prompt_rows_adds_static_atoms_and_goal_from_the_binding(world: World) -> None:
    encoding = WordsEncoding(world.vocabulary)
    binding = world.binding()
    fast = encoding.prompt_rows(world.state - world.static_atoms, binding)
    assert np.array_equal(fast, encoding.prompt(world.state, world.goal, binding))


def test_words_follow_the_layout_of_the_paper() -> None:
    vocabulary = blocksworld()
    encoding = WordsEncoding(vocabulary)
    prompt = encoding.prompt(TOWERS_STATE, TOWERS_GOAL, Binding(vocabulary, TOWERS))
    facts = "clear b1 on-table b2 arm-empty on b1 b2"
    assert " ".join(texts(vocabulary, prompt)) == f"<begin> {facts} <goal> on b2 b1 <not> holding b1"


def test_an_action_is_its_operator_and_its_objects() -> None:
    vocabulary = blocksworld()
    ids = WordsEncoding(vocabulary).action(("unstack", "b1", "b2"), Binding(vocabulary, TOWERS))
    assert [vocabulary.tokens[token] for token in ids] == ["unstack", "b1", "b2"]


@pytest.mark.parametrize("domain", catalog.names())
def test_states_of_each_domain_come_back_without_what_is_left_out(domain: str) -> None:
    spec = catalog.load(domain)
    vocabulary = build_vocabulary(read_domain(spec.domain_text), spec.defaults.encoding.as_table())
    encoding = WordsEncoding(vocabulary)
    for index in range(3):
        task = PddlTask(spec.domain_text, catalog.draw(spec, 1, index).text)
        binding = bind(vocabulary, task)
        state = task.apply(task.initial_state, task.applicable(task.initial_state)[0])
        atoms, goal = decoded(encoding.prompt_rows(task.atoms(state), binding), binding)
        every = {*task.atoms(state), *task.static_atoms}
        assert atoms == {atom for atom in every if atom[0] not in spec.defaults.encoding.left_out}
        assert goal == task.goal
