"""Reads what the generators print, without any code of theirs; and small statistics the distribution tests share."""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from scipy.stats import chisquare

Atom = tuple[str, ...]
Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class Parts:
    name: str
    domain: str
    objects: dict[str, list[str]]  # type -> members; "" for untyped ones
    init: list[Atom]
    goal: list[Atom]

    def args(self, predicate: str) -> list[Atom]:
        return [atom[1:] for atom in self.init if atom[0] == predicate]


def parts(text: str) -> Parts:
    text = re.sub(r";[^\n]*", "", text)
    found = re.fullmatch(
        r"\s*\(define \(problem (\S+)\)\s+\(:domain (\S+)\)\s+\(:objects(.*?)\)\s+"
        r"\(:init(.*?)\n  \)\s+\(:goal \(and(.*?)\n  \)\)\s*(?:\(:metric [^\n]*\)\s*)?\)\s*",
        text,
        re.DOTALL,
    )
    assert found is not None, text
    objects = {}
    for line in filter(None, map(str.strip, found[3].splitlines())):
        members, _, kind = line.partition(" - ")
        objects[kind] = members.split()
    return Parts(found[1], found[2], objects, atoms(found[4]), atoms(found[5]))


def atoms(block: str) -> list[Atom]:
    return [tuple(line.strip()[1:-1].split()) for line in block.splitlines() if line.strip()]


def expand(pattern: str) -> list[str]:
    """`"f{0..2}-{0..1}f"` -> its six names."""
    pieces = re.split(r"\{(\d+)\.\.(\d+)\}", pattern)
    spans = [range(int(low), int(high) + 1) for low, high in zip(pieces[1::3], pieces[2::3], strict=True)]
    fixed = pieces[0::3]
    return ["".join([fixed[0], *(f"{n}{text}" for n, text in zip(p, fixed[1:], strict=True))]) for p in product(*spans)]


def fits(sample: Iterable[Item], weights: Mapping[Item, float]) -> bool:
    """Chi-square: the sample could come from these weights (and holds nothing else). Seeds are fixed, so a
    test either always passes or never; 0.1 % leaves room for an unlucky seed, and real errors are far below."""
    counts = dict.fromkeys(weights, 0)
    for item in sample:
        counts[item] += 1
    drawn, total = sum(counts.values()), sum(weights.values())
    expected = [weight * drawn / total for weight in weights.values()]
    assert min(expected) >= 5, "too few draws for a chi-square test"
    return bool(chisquare(list(counts.values()), expected).pvalue > 0.001)
