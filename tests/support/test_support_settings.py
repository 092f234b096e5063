"""Tables and texts into checked values; every mistake is named."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from oclgen.errors import InputError
from oclgen.support.settings import (
    apply_overrides,
    build,
    check_values,
    format_duration,
    parse_duration,
    parse_memory,
    parse_overrides,
    read_table,
)


@dataclass(frozen=True)
class Inner:
    size: int
    rate: float = 0.5


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner = field(default_factory=lambda: Inner(1))
    many: tuple[Inner, ...] = ()
    words: tuple[str, ...] = ()
    order: Literal["depth", "none"] = "depth"
    limit: int | None = None
    flag: bool = False
    free: dict[str, Any] = field(default_factory=dict)


def test_a_table_becomes_nested_dataclasses_with_lists_as_tuples_and_whole_numbers_as_floats() -> None:
    table = {"name": "a", "inner": {"size": 2, "rate": 3}, "many": [{"size": 4}], "words": ["b"], "free": {"x": [1]}}
    made = build(Outer, table, "file")
    assert made == Outer("a", Inner(2, 3.0), (Inner(4),), ("b",), free={"x": [1]})
    assert type(made.inner.rate) is float


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"colour": 1}, r"file: unknown key 'colour' \(known: name, inner"),
        ({"inner": {"size": 1, "speed": 2}}, r"file: \[inner\]: unknown key 'speed'"),
        ({"inner": {}}, r"file: \[inner\]: the key 'size' is missing"),
        ({"inner": 3}, r"file: \[inner\] must be a table"),
        ({"inner": {"size": "3"}}, r"file: \[inner\]: size must be of type int, not '3'"),
        ({"inner": {"size": True}}, "size must be of type int, not True"),
        ({"inner": {"size": 3.5}}, "size must be of type int, not 3.5"),
        ({"inner": {"size": 1, "rate": True}}, "rate must be of type float, not True"),
        ({"many": 1}, "file: many must be a list of tables"),
        ({"many": [{"size": 1}, {}]}, "file: many 2: the key 'size' is missing"),
        ({"words": "abc"}, "file: words must be a list"),
        ({"words": [1]}, "file: words: each must be of type str, not 1"),
        ({"order": "f"}, "file: order must be one of depth, none, not 'f'"),
        ({"limit": "x"}, "file: limit must be of type int or none, not 'x'"),
        ({"flag": 1}, "flag must be of type bool"),
        ({"free": []}, "free must be of type dict"),
    ],
)
def test_what_a_dataclass_does_not_allow_is_refused_by_name(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        build(Outer, {"name": "a", **change}, "file")


def test_none_is_nothing_unless_it_is_a_word_of_the_setting() -> None:
    assert check_values(Outer, {"limit": None, "order": None, "unrelated": 1}) == {"limit": None, "order": "none"}


def test_overrides_are_numbers_words_toml_or_text() -> None:
    asked = ["a=1", "b=1e-4", "c = True ", "d=none", 'e="1"', "f=[1, 'x']", "g=/some/where", "h=x=y", "i=[broken"]
    expected = {"a": 1, "b": 1e-4, "c": True, "d": None, "e": "1", "f": [1, "x"]}
    assert parse_overrides(asked) == {**expected, "g": "/some/where", "h": "x=y", "i": "[broken"}


def test_dotted_overrides_reach_into_tables() -> None:
    table: dict[str, Any] = {"inner": {"size": 1}, "name": "a"}
    apply_overrides(table, ["inner.size=2", "other.deep.key=true"])
    assert table == {"inner": {"size": 2}, "name": "a", "other": {"deep": {"key": True}}}
    with pytest.raises(InputError, match="name is not a table"):
        apply_overrides(table, ["name.x=1"])


@pytest.mark.parametrize("override", ["key", "=1", " =1"])
def test_an_override_without_key_or_value_is_refused(override: str) -> None:
    with pytest.raises(InputError, match="KEY=VALUE"):
        parse_overrides([override])


def test_tables_are_read_from_toml_and_json(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[inner]\nsize = 1\n")
    (tmp_path / "a.json").write_text('{"inner": {"size": 1}}')
    assert read_table(tmp_path / "a.toml") == read_table(tmp_path / "a.json") == {"inner": {"size": 1}}


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.toml", b"[inner", "a.toml: "),
        ("a.json", b"{", "a.json: "),
        ("a.json", b"[]", "a.json: must be a table"),
        ("a.toml", b"\xff", "a.toml: "),
        ("a.toml", None, "a.toml: No such file"),
    ],
)
def test_an_unreadable_table_names_its_file(tmp_path: Path, name: str, content: bytes | None, complaint: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("30s", 30), ("1.5m", 90), ("2h", 7200), ("1D", 86400), (" 5m ", 300)]
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-3s", "3w", "1e3"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (0.4, "0s"), (59.4, "59s"), (59.6, "1m 00s"), (425, "7m 05s"), (12000, "3h 20m")],
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(("text", "size"), [("4G", 4 << 30), ("800m", 800 << 20), ("100K", 100 << 10), ("7", 7 << 20)])
def test_memory_sizes_are_bytes(text: str, size: int) -> None:
    assert parse_memory(text) == size


def test_what_is_no_memory_size_is_refused() -> None:
    with pytest.raises(InputError, match="not a memory size"):
        parse_memory("much")
