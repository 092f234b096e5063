"""The fingerprint: blind to names without meaning, sharp for everything else."""

import itertools
import random
from dataclasses import replace

import pytest

from oclgen.domains import catalog
from oclgen.interfaces import Atom
from oclgen.pddl import fingerprint
from oclgen.pddl.fingerprint import problem_fingerprint
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.reading.conditions import Conjunction, Literal
from oclgen.pddl.reading.problem import read_problem
from tests.pddl.samples import SMALL, drawn


def renamed(info: ProblemInfo, names: dict[str, str], rng: random.Random) -> ProblemInfo:
    """The same problem with other names, its objects in another order."""

    def moved(atoms: frozenset[Atom]) -> frozenset[Atom]:
        return frozenset((atom[0], *(names.get(term, term) for term in atom[1:])) for atom in atoms)

    objects = list(info.objects.items())
    rng.shuffle(objects)
    return replace(
        info,
        objects={names.get(name, name): kind for name, kind in objects},
        init=moved(info.init),
        goal_condition=conjunction(moved(info.goal[0]), moved(info.goal[1])),
    )


def conjunction(positive: frozenset[Atom], negative: frozenset[Atom] = frozenset()) -> Conjunction:
    pairs = [*((atom, True) for atom in positive), *((atom, False) for atom in negative)]
    return Conjunction(tuple(Literal(atom, wanted) for atom, wanted in pairs))


def meaningful_types(name: str) -> frozenset[str]:
    pools = catalog.load(name).defaults.encoding.pool
    return frozenset(kind for pool in pools if pool.meaningful for kind in pool.types)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("index", range(5))
def test_renaming_objects_without_meaning_changes_nothing(name: str, index: int) -> None:
    info = read_problem(*drawn(name, index))
    rng = random.Random(index)
    for meaningful in (meaningful_types(name), frozenset[str]()):
        free = [
            each
            for each, kind in info.objects.items()
            if each not in info.domain.constants and not info.domain.fits(kind, meaningful)
        ]
        shuffled = rng.sample(free, len(free))
        other = renamed(info, dict(zip(free, shuffled, strict=True)), rng)
        assert problem_fingerprint(other, meaningful) == problem_fingerprint(info, meaningful)


def test_the_problem_name_comments_and_order_change_nothing() -> None:
    domain, problem = drawn("logistics", 0)
    other = problem.replace("(problem ", "(problem other-", 1).upper() + "; the end"
    types = meaningful_types("logistics")
    marks = [problem_fingerprint(read_problem(domain, text), types) for text in (problem, other)]
    assert marks[0] == marks[1]


def test_meaningful_names_constants_facts_and_goals_all_count() -> None:
    domain = (
        "(define (domain d) (:types a b) (:constants k - a) (:predicates (p ?x) (q ?x ?y)) (:action e :effect (p k)))"
    )

    def mark(objects: str, init: str, goal: str) -> str:
        text = f"(define (problem x) (:domain d) (:objects {objects}) (:init {init}) (:goal (and {goal})))"
        return problem_fingerprint(read_problem(domain, text), frozenset({"b"}))

    marks = [
        mark("x - a y - b", "(p x) (q x y)", "(p y)"),
        mark("x - a z - b", "(p x) (q x z)", "(p z)"),
        mark("x - a y - b", "(p k) (q x y)", "(p y)"),
        mark("x - a y - b", "(p x) (q y x)", "(p y)"),
        mark("x - a y - b", "(p x) (q x y)", "(p x)"),
        mark("x - a y - b", "(p x) (q x y)", "(not (p y))"),
        mark("x - a y - b", "(p x)", "(p y) (q x y)"),
        mark("x w - a y - b", "(p x) (q x y)", "(p y)"),
        mark("x y - b", "(p x) (q x y)", "(p y)"),
    ]
    assert len(set(marks)) == len(marks)
    assert mark("v - a y - b", "(q v y) (p v)", "(p y)") == marks[0]


def blocks(init: str, goal: str) -> str:
    text = f"(define (problem x) (:domain blocksworld-4ops) (:objects a b c d e f) (:init {init}) (:goal (and {goal})))"
    return problem_fingerprint(read_problem(drawn("blocksworld", 0)[0], text), frozenset())


def test_problems_that_look_alike_locally_are_told_apart() -> None:
    """Three towers of two: goals that close one ring of six blocks, or three rings of two."""
    towers = "(on a b) (on c d) (on e f)"
    assert blocks(towers, "(on b a) (on d c) (on f e)") != blocks(towers, "(on b c) (on d e) (on f a)")
    assert blocks(towers, "(on b c) (on d e) (on f a)") == blocks(towers, "(on b e) (on f c) (on d a)")


def test_all_problems_of_three_blocks_fall_into_their_classes() -> None:
    """Compared with the definition: equal fingerprints exactly for problems that some renaming maps to each other."""
    domain = drawn("blocksworld", 0)[0]
    names = ["a", "b", "c"]
    states = [
        frozenset(("on", *pair) for pair in itertools.pairwise(order) if pair[0] not in bottoms)
        for order in itertools.permutations(names)
        for bottoms in ({order[2]}, {order[1], order[2]}, {order[0], order[1], order[2]})
    ]
    base = read_problem(
        domain, "(define (problem x) (:domain blocksworld-4ops) (:objects a b c) (:init) (:goal (and)))"
    )
    problems = {(init, goal) for init in states for goal in states}
    classes: dict[str, set[object]] = {}
    for init, goal in problems:
        info = replace(base, init=init, goal_condition=conjunction(goal))
        images = {
            (changed.init, changed.goal[0])
            for order in itertools.permutations(names)
            for changed in [renamed(info, dict(zip(names, order, strict=True)), random.Random(0))]
        }
        classes.setdefault(problem_fingerprint(info, frozenset()), set()).add(frozenset(images))
    assert all(len(images) == 1 for images in classes.values())
    assert len(classes) == len(set.union(*classes.values()))


def test_a_chain_too_long_to_refine_is_still_blind_to_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bound a chain of n objects takes n / 2 rounds of up to n looks each."""
    looks: list[int] = []
    ordinary = fingerprint._Structure._look

    def counted(structure: fingerprint._Structure, each: int, colours: list[int]) -> object:
        looks.append(each)
        return ordinary(structure, each, colours)

    monkeypatch.setattr(fingerprint._Structure, "_look", counted)
    monkeypatch.setattr(fingerprint, "MAX_LOOKS", 1000)
    names, rng = [f"b{number}" for number in range(200)], random.Random(1)
    chain = " ".join(f"(on {upper} {lower})" for upper, lower in itertools.pairwise(names))
    text = f"(define (problem p) (:domain blocksworld-4ops) (:objects {' '.join(names)}) (:init {chain}) (:goal (and)))"
    info = read_problem(catalog.load("blocksworld").domain_text, text)
    other = renamed(info, dict(zip(names, rng.sample(names, len(names)), strict=True)), rng)
    assert problem_fingerprint(info, frozenset()) == problem_fingerprint(other, frozenset())
    assert len(looks) < 2 * (1000 + len(names) + 1)
