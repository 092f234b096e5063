from itertools import chain, cycle, repeat

from oclgen.support.distinct import PATIENCE, distinct


def test_items_come_once_each_with_their_keys() -> None:
    found = distinct(["aa", "b", "AA", "c", "B"], key=str.lower, seen=["c"])
    assert list(found) == [("aa", "aa"), ("b", "b")]


def test_an_endless_stream_ends_where_nothing_new_comes() -> None:
    assert [item for item, _ in distinct(cycle(range(50)), key=lambda item: item)] == list(range(50))


def test_a_late_item_is_found_as_long_as_patience_lasts() -> None:
    stream = chain(repeat(1, PATIENCE), [2], repeat(1))
    assert [item for item, _ in distinct(stream, key=lambda item: item)] == [1, 2]
