"""Token ids, pools and their refusals, and vocabularies on disk."""

import json
from typing import Any

import pytest
from hypothesis import given

from oclgen.domains import catalog
from oclgen.encoding import Vocabulary, build_vocabulary, pools_from_problems
from oclgen.encoding.vocabulary import SPECIALS, expand
from oclgen.errors import InputError
from oclgen.pddl.reading.domain import read_domain
from tests.encoding.worlds import ENCODING, World, domain, worlds


def built(**changes: Any) -> Vocabulary:
    return build_vocabulary(domain([2], [1], [1]), ENCODING | changes)


def pool(**changes: Any) -> dict[str, Any]:
    return {"types": ["thing"], "names": ["t{1..3}"], "meaningful": False} | changes


def test_ids_are_specials_operators_changing_then_static_predicates_constants_and_pools() -> None:
    vocabulary = built()
    assert vocabulary.tokens[:6] == SPECIALS
    assert " ".join(vocabulary.tokens[6:]) == "change n o0 p0 q0 n t1 t2 t3 t4 t5 t6 c0-0 c0-1 c1-0 c1-1"
    assert SPECIALS.index("<pad>") == 0
    assert [vocabulary.first_operator, vocabulary.first_predicate, vocabulary.first_object] == [6, 9, 11]
    assert vocabulary.size == 22


def test_an_object_an_operator_and_a_predicate_may_share_a_name() -> None:
    vocabulary = built()
    assert vocabulary.operator_ids["n"] != vocabulary.object_ids["n"]


def test_slots_count_the_arguments_of_encoded_predicates_only() -> None:
    assert build_vocabulary(domain([1], [1], [3]), ENCODING).slots == 1


def test_a_type_without_a_pool_takes_its_parents() -> None:
    vocabulary = built()
    assert vocabulary.pool_of_type["small"] is vocabulary.pool_of_type["thing"]
    assert "object" not in vocabulary.pool_of_type


@given(world=worlds())
def test_a_vocabulary_survives_json(world: World) -> None:
    again = Vocabulary.from_json(world.vocabulary.to_json())
    assert again == world.vocabulary
    assert again.tokens == world.vocabulary.tokens


@pytest.mark.parametrize("name", catalog.names())
def test_shipped_defaults_build_a_vocabulary_that_survives_json(name: str) -> None:
    spec = catalog.load(name)
    vocabulary = build_vocabulary(read_domain(spec.domain_text), spec.defaults.encoding.as_table())
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', "null"])
def test_broken_json_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="vocabulary"):
        Vocabulary.from_json(text)


def test_another_format_is_an_input_error() -> None:
    table = json.loads(built().to_json()) | {"format": 99}
    with pytest.raises(InputError, match="another format"):
        Vocabulary.from_json(json.dumps(table))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"left_out": ["p0"]}, "left_out 'p0' is not a static predicate"),
        ({"left": []}, "unknown key 'left'; known: left_out, pool"),
        ({"pool": [pool(size=3)]}, "unknown key 'size'"),
        ({"pool": [pool(types=["dog"])]}, "type 'dog' is not declared"),
        ({"pool": [pool(), pool(names=["u{1..3}"])]}, "type 'thing' stands in two pools"),
        ({"pool": [pool(), pool(types=["cell"])]}, "object token 't1' stands in more than one place"),
        ({"pool": [pool(names=["n"])]}, "object token 'n' stands in more than one place"),
    ],
)
def test_a_wrong_encoding_table_is_an_input_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        built(**changes)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("up", ["up"]),
        ("b{9..11}", ["b9", "b10", "b11"]),
        ("f{0..1}-{2..3}f", ["f0-2f", "f0-3f", "f1-2f", "f1-3f"]),
        ("b{2..1}", []),
    ],
)
def test_brace_ranges_expand_in_order(pattern: str, names: list[str]) -> None:
    assert expand(pattern) == names


def test_pools_from_problems_leave_room_for_half_as_many_objects_again() -> None:
    problems = [{"n": "object", "x": "thing"}, {"a": "thing", "b": "thing", "c": "thing", "d": "cell"}]
    vocabulary = built(**pools_from_problems(problems, constants=["n"]))
    sizes = {each.types: len(each.names) for each in vocabulary.pools}
    assert sizes == {("cell",): 2, ("thing", "small"): 5}
    assert not any(each.meaningful for each in vocabulary.pools)
