"""A hash of a problem that renaming objects cannot change, for finding the same problem twice.

Objects whose names carry no meaning are distinguished only by the facts and goals that mention them: colour
refinement, then, while objects still look alike, each of them in turn is given a colour of its own and the
smallest description that results is kept. The work is bounded; beyond the bound objects that look alike stay
alike, so two different, highly symmetric problems may share a hash, but two equal ones always do.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator

from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.reading.conditions import Condition, Conjunction, Disjunction, Literal, conjuncts

MAX_LEAVES = 64
MAX_LOOKS = 1_000_000
"""At objects, in one refinement: a chain of n takes n / 2 rounds. No problem of a thousand objects gets there."""
NODES = ("object", "node")
"""What facts and goals are about: the objects, and the inner nodes of a goal that is not a conjunction."""

Label = tuple[str, str, str]
Edge = tuple[int, tuple[int, ...]]
"""A fact or a goal: the rank of its label, and its objects."""


def problem_fingerprint(info: ProblemInfo, meaningful_types: frozenset[str]) -> str:
    """Objects of `meaningful_types`, their subtypes, and the domain's constants count with their names."""
    facts = _labelled(info, meaningful_types)
    numbers = {members[0]: i for i, ((segment, _, _), members) in enumerate(facts) if segment in NODES}
    labels = sorted({label for label, _ in facts})
    ranks = {label: rank for rank, label in enumerate(labels)}
    edges = [(ranks[label], tuple(numbers[name] for name in names)) for label, names in facts]
    colours = [label for label, _ in edges[: len(numbers)]]
    smallest = _Structure(edges, len(numbers)).smallest(colours, MAX_LEAVES)
    content = repr((info.domain.name, labels, smallest))
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _labelled(info: ProblemInfo, meaningful_types: frozenset[str]) -> list[tuple[Label, tuple[str, ...]]]:
    """Each object with its type, and its name where that carries meaning; the nodes of a goal that is not a
    conjunction; then facts, goals and negative goals."""
    named = {
        name
        for name, kind in info.objects.items()
        if name in info.domain.constants or info.domain.fits(kind, meaningful_types)
    }
    labelled: list[tuple[Label, tuple[str, ...]]] = [
        (("object", kind, name if name in named else ""), (name,)) for name, kind in info.objects.items()
    ]
    parts = list(conjuncts(info.ground_goal))
    alternatives = [part for part in parts if not isinstance(part, Literal)]
    nodes = [each for number, part in enumerate(alternatives) for each in _nodes(part, f"{number}")]
    labelled += [each for each in nodes if each[0][0] == "node"]
    labelled += [(("fact", atom[0], ""), atom[1:]) for atom in info.init]
    for literal in (part for part in parts if isinstance(part, Literal)):
        labelled.append((("goal" if literal.positive else "not", literal.atom[0], ""), literal.atom[1:]))
    return labelled + [each for each in nodes if each[0][0] != "node"]


def _nodes(part: Condition, node: str) -> Iterator[tuple[Label, tuple[str, ...]]]:
    """A goal's conjunctions and disjunctions as things of their own, which contain others and literals.

    Their names, `0`, `0 1`, ..., with a blank, are no names of objects.
    """
    assert isinstance(part, Conjunction | Disjunction)
    yield ("node", "and" if isinstance(part, Conjunction) else "or", ""), (f" {node}",)
    for number, child in enumerate(part.parts):
        if isinstance(child, Literal):
            yield ("goal part" if child.positive else "not part", child.atom[0], ""), (f" {node}", *child.atom[1:])
        else:
            yield ("within", "", ""), (f" {node} {number}", f" {node}")
            yield from _nodes(child, f"{node} {number}")


class _Structure:
    """Objects 0..n-1 and the labelled tuples that contain them."""

    def __init__(self, edges: list[Edge], size: int) -> None:
        self.edges = edges
        self.incident: list[list[tuple[int, int, tuple[int, ...]]]] = [[] for _ in range(size)]
        for label, members in edges:
            for position, member in enumerate(members):
                self.incident[member].append((label, position, members))

    def smallest(self, colours: list[int], leaves: int) -> list[Edge]:
        """The smallest description over all ways to tell equal-looking objects apart, as far as `leaves` allows."""
        colours = self.refined(colours)
        for cell in _shared(colours):
            choices = self.without_twins(cell)
            if 1 < len(choices) <= leaves:
                return min(self.smallest(_singled_out(colours, each), leaves // len(choices)) for each in choices)
        return sorted((label, tuple(colours[each] for each in members)) for label, members in self.edges)

    def refined(self, colours: list[int]) -> list[int]:
        """Split colours by the neighbours' colours until nothing more splits, or it is too much work; names play no
        part in the order, nor in when it ends."""
        count, looked = len(set(colours)), 0
        while True:
            loose = [each for cell in _shared(colours) for each in cell]
            looked += len(loose)
            looks = [(colour, ()) for colour in colours]
            for each in loose:
                looks[each] = (colours[each], self._look(each, colours))  # type: ignore[assignment]
            ranks = {look: rank for rank, look in enumerate(sorted(set(looks)))}
            colours = [ranks[look] for look in looks]
            if len(ranks) == count or looked > MAX_LOOKS:
                return colours
            count = len(ranks)

    def _look(self, each: int, colours: list[int]) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
        seen = self.incident[each]
        return tuple(sorted((label, position, tuple(colours[m] for m in members)) for label, position, members in seen))

    def without_twins(self, cell: list[int]) -> list[int]:
        """One of each set of objects that can be swapped without any change."""
        chosen: dict[frozenset[Edge], int] = {}
        for each in cell:
            view = frozenset(
                (label, tuple(-1 if m == each else m for m in members)) for label, _, members in self.incident[each]
            )
            chosen.setdefault(view, each)
        return list(chosen.values())


def _shared(colours: list[int]) -> list[list[int]]:
    """The sets of objects with the same colour, smallest colour first."""
    cells: dict[int, list[int]] = defaultdict(list)
    for each, colour in enumerate(colours):
        cells[colour].append(each)
    return [cells[colour] for colour in sorted(cells) if len(cells[colour]) > 1]


def _singled_out(colours: list[int], chosen: int) -> list[int]:
    return [2 * colour - (each == chosen) for each, colour in enumerate(colours)]
