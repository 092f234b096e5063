"""Which object takes which token, and who is refused."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from oclgen.domains import catalog
from oclgen.encoding import Binding, bind, build_vocabulary
from oclgen.encoding.vocabulary import Symbol
from oclgen.errors import ExitCode, UnsupportedError
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask
from tests.encoding.worlds import ENCODING, World, domain, worlds

VOCABULARY = build_vocabulary(domain([2], [1], [1]), ENCODING)


def tokens(objects: dict[str, str]) -> dict[str, str]:
    binding = Binding(VOCABULARY, objects)
    return {name: VOCABULARY.tokens[binding.token[name]] for name in objects}


@given(world=worlds())
def test_a_binding_gives_every_object_a_token_of_its_own(world: World) -> None:
    binding = world.binding()
    assert set(world.objects) <= set(binding.token)
    assert len(set(binding.token.values())) == len(binding.token)
    assert all(binding.object[token] == name for name, token in binding.token.items())


def test_objects_called_like_tokens_keep_their_names() -> None:
    objects = {"t4": "thing", "t2": "small"}
    assert tokens(objects) == {"t4": "t4", "t2": "t2"}


def test_objects_under_other_names_take_tokens_in_the_order_of_declaration() -> None:
    assert tokens({"z": "thing", "t3": "thing", "a": "thing"}) == {"z": "t1", "t3": "t2", "a": "t3"}


def test_constants_have_tokens_of_their_own() -> None:
    assert tokens({"n": "object", "c0-1": "cell"}) == {"n": "n", "c0-1": "c0-1"}


def test_too_many_objects_are_refused_with_the_bound() -> None:
    with pytest.raises(UnsupportedError, match=r"7 objects of type thing/small.* at most 6") as refusal:
        Binding(VOCABULARY, {f"t{i}": "thing" for i in range(1, 8)})
    assert refusal.value.exit_code == ExitCode.UNSUPPORTED


def test_a_meaningful_name_outside_the_pool_is_refused_with_the_names_known() -> None:
    with pytest.raises(UnsupportedError, match=r"'c0-9' of type cell .* 4 names, 'c0-0' to 'c1-1'"):
        Binding(VOCABULARY, {"c0-0": "cell", "c0-9": "cell"})


def test_a_type_without_tokens_is_refused_with_the_types_known() -> None:
    with pytest.raises(UnsupportedError, match=r"'x' has type 'object'.*types with tokens: cell, small, thing"):
        Binding(VOCABULARY, {"x": "object"})


@pytest.mark.parametrize(
    ("changes", "symbol"),
    [
        ({"operators": (Symbol("move", 3), Symbol("push", 3))}, "action 'push'"),
        ({"operators": (Symbol("move", 3),)}, "action 'push'"),
        ({"predicates": (Symbol("at-robot", 1), Symbol("has-box", 1), Symbol("clear", 2))}, "predicate 'clear'"),
        ({"predicates": (Symbol("at-robot", 1), Symbol("has-box", 1), Symbol("clear", 1, True))}, "predicate 'clear'"),
        ({"left_out": ()}, "predicate 'adjacent'"),
    ],
)
def test_a_task_of_another_domain_is_refused_naming_a_difference(changes: dict[str, Any], symbol: str) -> None:
    spec = catalog.load("sokoban")
    vocabulary = build_vocabulary(read_domain(spec.domain_text), spec.defaults.encoding.as_table())
    task = PddlTask(spec.domain_text, catalog.draw(spec, 0, 0).text)
    assert bind(vocabulary, task).goal == task.goal
    with pytest.raises(UnsupportedError, match=f"another domain typed-sokoban: {symbol} differs"):
        bind(replace(vocabulary, **changes), task)
