"""PDDL text as nested groups of words with their positions, so that every error names file and line.

PDDL is case-insensitive: the text is lower-cased here, once, and nowhere else.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from oclgen.errors import InputError, PddlError, UnsupportedError

MAX_BYTES = 4_000_000
MAX_DEPTH = 100
MAX_WORD = 200
MAX_PATH = 4096

TOKEN = re.compile(r"[()]|\??[^\s()?]+|\?")  # a variable may touch the word before it, as in `(at?x)`


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name that errors about it begin with."""

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


def bad(node: Node, message: str) -> PddlError:
    return PddlError(f"{node.file}:{node.line}: {message}")


def unsupported(node: Node, feature: str) -> UnsupportedError:
    return UnsupportedError(f"{node.file}:{node.line}: {feature} not supported")


def one_of(node: Node, words: Container[str]) -> bool:
    return isinstance(node, Word) and node in words


def shown(node: Node) -> str:
    """A node as it reads in the file, made printable and cut to a length that fits one line."""
    text = "".join(letter if letter.isprintable() else "?" for letter in _spelled(node, 60)[:61])
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
    """A path is read; a string that starts like PDDL or has several lines is the text itself, any other is a path."""
    if isinstance(argument, str) and _is_text(argument):
        if len(argument) > MAX_BYTES:
            raise UnsupportedError(f"<{kind}>: this {kind} text is larger than {MAX_BYTES // 1_000_000} MB")
        return Source(f"<{kind}>", argument.removeprefix("\ufeff"))
    return read_file(Path(argument), kind)


def _is_text(argument: str) -> bool:
    start = argument[:MAX_PATH].lstrip("\ufeff \t")
    return len(argument) > MAX_PATH or "\n" in argument or start.startswith(("(", ";"))


def read_file(path: Path, kind: str) -> Source:
    name = str(path).encode("utf-8", "replace").decode()
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{name}: no such {kind} file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: cannot read this {kind} file: {reason}") from None
    if len(data) > MAX_BYTES:
        raise UnsupportedError(f"{name}: this {kind} file is larger than {MAX_BYTES // 1_000_000} MB")
    return Source(name, _decoded(data, name))


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


def read_groups(origin: Source, most: int = MAX_BYTES) -> list[Group]:
    """The top-level groups of a text, refused as soon as there are more than `most`."""
    top = Group()
    path = [top]
    for number, line in enumerate(lines(origin.text), 1):
        for token in TOKEN.findall(line):
            if token == ")":
                if len(path) == 1:
                    raise PddlError(f"{origin.name}:{number}: closing parenthesis without an opening one")
                path.pop()
                continue
            node = Group() if token == "(" else Word(token)
            node.file = origin.name
            node.line = number
            path[-1].append(node)
            if isinstance(node, Group):
                path.append(node)
                if len(path) > MAX_DEPTH or len(top) > most:
                    raise _too_much(node, len(path))
            elif len(path) == 1 or len(token) > MAX_WORD:
                raise _misplaced(node)
    if len(path) > 1:
        raise bad(path[-1], "opening parenthesis is never closed")
    return [group for group in top if isinstance(group, Group)]


def _too_much(group: Group, depth: int) -> PddlError:
    if depth > MAX_DEPTH:
        return bad(group, f"parentheses nested more than {MAX_DEPTH} deep")
    return bad(group, "text after the end of the definition (a parenthesis too many before?)")


def _misplaced(word: Word) -> PddlError:
    if len(word) > MAX_WORD:
        return bad(word, f"a name of {len(word)} characters; at most {MAX_WORD} are read")
    return bad(word, f"expected an opening parenthesis, not {shown(word)!r}")


def read_definition(origin: Source, kind: str) -> tuple[Node, Group]:
    """The one `(define (domain|problem NAME) ...)` of a text, and its name."""
    groups = read_groups(origin, most=1)
    if not groups:
        raise PddlError(f"{origin.name}:1: empty; expected (define ({kind} ...) ...)")
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
