"""PDDL text as nested groups of words that know where they stand, so that every complaint names file and line.

PDDL is case-insensitive: the text is lower-cased here, once, and nowhere else.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from oclgen.errors import InputError, PddlError, UnsupportedError

MAX_BYTES = 8_000_000
MAX_DEPTH = 100
MAX_WORD = 200

TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name that complaints about it start with."""

    name: str
    text: str


class Word(str):
    """One word of the text."""

    __slots__ = ("file", "line")
    file: str
    line: int


class Group(list["Word | Group"]):
    """What stands between two parentheses."""

    __slots__ = ("file", "line")
    file: str
    line: int


Node = Word | Group
_AnyNode = TypeVar("_AnyNode", Word, Group)


def bad(node: Node, message: str) -> PddlError:
    return PddlError(f"{node.file}:{node.line}: {message}")


def unsupported(node: Node, feature: str) -> UnsupportedError:
    return UnsupportedError(f"{node.file}:{node.line}: {feature} not supported")


def shown(node: Node) -> str:
    """A node as it reads in the file, cut to a length that fits one line."""
    text = _spelled(node, 60)
    return text if len(text) <= 60 else text[:57] + "..."


def _spelled(node: Node, room: int) -> str:
    if isinstance(node, Word):
        return str(node)
    parts: list[str] = []
    for child in node:
        parts.append(_spelled(child, room))
        room -= len(parts[-1]) + 1
        if room < 0:
            break
    return "(" + " ".join(parts) + ")"


def source(argument: Path | str, kind: str) -> Source:
    """A path is read; a string that starts like PDDL is the text itself, any other string is a path."""
    if isinstance(argument, str):
        start = argument.lstrip("\ufeff \t\r\n")
        if start.startswith(("(", ";")):
            return Source(f"<{kind}>", argument)
    return read_file(Path(argument), kind)


def read_file(path: Path, kind: str) -> Source:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such {kind} file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot read this {kind} file: {reason}") from None
    if len(data) > MAX_BYTES:
        raise UnsupportedError(f"{path}: this {kind} file is larger than {MAX_BYTES // 1_000_000} MB")
    return Source(str(path), _decoded(data, str(path)))


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PddlError(f"{name}:{line}: not a text file (byte {data[error.start]:#04x} is not UTF-8)") from None


def lines(text: str) -> list[str]:
    """Lower-cased lines without comments, whatever the line ends are."""
    unified = text.lower().replace("\r\n", "\n").replace("\r", "\n")
    return [line.partition(";")[0] for line in unified.split("\n")]


def read_groups(origin: Source) -> list[Group]:
    """All top-level groups of a text."""
    top: list[Group] = []
    open_groups: list[Group] = []
    for number, line in enumerate(lines(origin.text), 1):
        for token in TOKEN.findall(line):
            if token == "(":
                _open(open_groups, top, _at(Group(), origin, number))
            elif token == ")":
                if not open_groups:
                    raise bad(_at(Word(token), origin, number), "closing parenthesis without an opening one")
                open_groups.pop()
            else:
                _add_word(open_groups, _at(Word(token), origin, number))
    if open_groups:
        raise bad(open_groups[-1], "opening parenthesis is never closed")
    return top


def _at(node: _AnyNode, origin: Source, line: int) -> _AnyNode:
    node.file = origin.name
    node.line = line
    return node


def _open(open_groups: list[Group], top: list[Group], group: Group) -> None:
    (open_groups[-1] if open_groups else top).append(group)
    open_groups.append(group)
    if len(open_groups) > MAX_DEPTH:
        raise bad(group, f"parentheses nested more than {MAX_DEPTH} deep")


def _add_word(open_groups: list[Group], word: Word) -> None:
    if not open_groups:
        raise bad(word, f"expected an opening parenthesis, not {shown(word)!r}")
    if len(word) > MAX_WORD:
        raise bad(word, f"a name of {len(word)} characters; at most {MAX_WORD} are read")
    open_groups[-1].append(word)


def read_definition(origin: Source, kind: str) -> tuple[Node, Group]:
    """The one `(define (domain|problem NAME) ...)` of a text, and its name."""
    groups = read_groups(origin)
    if not groups:
        raise PddlError(f"{origin.name}:1: empty; expected (define ({kind} ...) ...)")
    if len(groups) > 1:
        raise bad(groups[1], "text after the end of the definition (a parenthesis too many before?)")
    root = groups[0]
    if not root or root[0] != "define":
        raise bad(root, f"expected (define ({kind} ...) ...), not {shown(root)}")
    title = root[1] if len(root) > 1 else root
    if not isinstance(title, Group) or len(title) != 2 or title[0] != kind:
        raise bad(title, f"expected (define ({kind} NAME) ...), not {shown(root)}")
    return title[1], root


def sections(root: Group, known: frozenset[str], refused: dict[str, str]) -> list[tuple[str, Group]]:
    """The `(:keyword ...)` groups of a definition, in order."""
    found = []
    for node in root[2:]:
        if not isinstance(node, Group) or not node or not isinstance(node[0], Word):
            raise bad(node, f"expected a section such as (:init ...), not {shown(node)}")
        if node[0] in refused:
            raise unsupported(node, refused[node[0]])
        if node[0] not in known:
            raise bad(node, f"unknown section {shown(node[0])}")
        found.append((str(node[0]), node))
    return found
