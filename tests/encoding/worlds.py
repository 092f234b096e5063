"""Random small domains with random objects, states, goals and plans, for property tests."""

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from oclgen.encoding import Binding, Vocabulary, build_vocabulary
from oclgen.interfaces import Action, Atom
from oclgen.pddl.model import DomainInfo, Operator, Signature
from oclgen.pddl.reading.conditions import ALWAYS, Effect, Literal

TYPES: dict[str, str | None] = {"object": None, "thing": "object", "small": "thing", "cell": "object"}
ENCODING = {
    "left_out": ["hidden"],
    "pool": [
        {"types": ["thing"], "names": ["t{1..6}"], "meaningful": False},
        {"types": ["cell"], "names": ["c{0..1}-{0..1}"], "meaningful": True},
    ],
}


@dataclass(frozen=True)
class World:
    """One drawn task, as far as encodings see it; `state` holds static atoms too."""

    vocabulary: Vocabulary
    objects: dict[str, str]
    state: frozenset[Atom]
    static_atoms: frozenset[Atom]
    goal: tuple[frozenset[Atom], frozenset[Atom]]
    plan: tuple[Action, ...]

    def binding(self) -> Binding:
        return Binding(self.vocabulary, self.objects, self.static_atoms, self.goal)


def domain(arities: list[int], static_arities: list[int], operator_arities: list[int]) -> DomainInfo:
    """Predicates p0.. change, q0.. and `hidden` do not; `n` is a constant and the name of an operator."""
    names = {f"p{i}": arity for i, arity in enumerate(arities)}
    static = {"hidden": 2} | {f"q{i}": arity for i, arity in enumerate(static_arities)}
    anything = ("object",)
    variables = ("?a", "?b", "?c")
    effect = (Effect(tuple(Literal((name, *variables[:arity]), True) for name, arity in names.items())),)
    operators = {
        name: Operator(name, variables[:arity], (anything,) * arity, ALWAYS, effect if arity == 3 else (), ())
        for name, arity in [("change", 3), ("n", 0), *((f"o{i}", arity) for i, arity in enumerate(operator_arities))]
    }
    predicates = {name: Signature(name, (anything,) * arity) for name, arity in (static | names).items()}
    return DomainInfo("random", TYPES, {"n": "object"}, predicates, {}, operators)


def world(seed: int, size: int) -> World:
    """Drawn by a plain generator, which is much faster than drawing each part by hypothesis; `size` shrinks."""
    rng = random.Random(seed)
    arities = [[rng.randint(0, 3) for _ in range(rng.randint(1, 4))] for _ in range(3)]
    info = domain(*arities)
    things = rng.sample("abcdefgh", min(size, rng.randint(0, 6)))
    if rng.random() < 0.5:
        things = rng.sample(["t1", "t2", "t3", "t4", "t5", "t6"], len(things))
    cells = rng.sample(["c0-0", "c0-1", "c1-0", "c1-1"], min(size, rng.randint(0, 4)))
    objects = info.constants | {name: rng.choice(["thing", "small"]) for name in things} | dict.fromkeys(cells, "cell")

    def ground(arity_of: dict[str, int], most: int) -> list[tuple[str, ...]]:
        names = rng.choices(list(arity_of), k=rng.randint(0, most))
        return [(name, *rng.choices(list(objects), k=arity_of[name])) for name in names]

    seen = {name: each.arity for name, each in info.predicates.items() if name != "hidden"}
    state = frozenset(ground(seen, size))
    return World(
        vocabulary=build_vocabulary(info, ENCODING),
        objects=objects,
        state=state,
        static_atoms=frozenset(atom for atom in state if atom[0] in info.static_predicates),
        goal=(frozenset(ground(seen, size // 3)), frozenset(ground(seen, size // 6))),
        plan=tuple(ground({name: each.arity for name, each in info.operators.items()}, size // 2)),
    )


def worlds() -> st.SearchStrategy[World]:
    return st.builds(world, st.integers(0, 2**32), st.integers(0, 20))
