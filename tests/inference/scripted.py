"""An engine whose distributions a test writes down, and a small Blocksworld task to use it on."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np

from oclgen.domains import catalog
from oclgen.encoding.vocabulary import Vocabulary, build_vocabulary
from oclgen.inference.engine import BoolArray, FloatArray, IntArray
from oclgen.interfaces import Action
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask

DOMAIN = catalog.load("blocksworld").domain_text
POOL = {"types": ["object"], "names": ["b{1..5}"], "meaningful": False}
BLOCKS = build_vocabulary(read_domain(DOMAIN), {"pool": [POOL]})

History = tuple[int, ...]
Script = Callable[[History], Mapping[int, float]]


def blocks_task(goal: str = "(on b1 b2) (on b2 b3)", held: str | None = None) -> PddlTask:
    """Three blocks on the table, or one of them in the hand."""
    standing = [block for block in ("b1", "b2", "b3") if block != held]
    facts = " ".join(f"(clear {block}) (on-table {block})" for block in standing)
    hand = f"(holding {held})" if held else "(arm-empty)"
    return PddlTask(
        DOMAIN,
        f"(define (problem three) (:domain blocksworld-4ops) (:objects b1 b2 b3)"
        f" (:init {hand} {facts}) (:goal (and {goal})))",
    )


def tokens(*actions: Action, vocabulary: Vocabulary = BLOCKS) -> list[int]:
    ids = vocabulary.operator_ids | vocabulary.object_ids
    return [ids[word] for action in actions for word in action]


def one_path(path: Sequence[int], probability: float = 1.0) -> Script:
    """Follows a path of tokens, each with the given probability; the rest goes to `<pad>`."""
    return lambda history: {path[len(history)]: probability, 0: 1.0 - probability}


class ScriptedEngine:
    """Distributions from a script; `batches` records how many rows each step had."""

    def __init__(self, script: Script, max_plan: int = 50) -> None:
        self.script = script
        self.max_plan = max_plan
        self.vocabulary = BLOCKS.size
        self.batches: list[int] = []

    def open(self, prompts: Sequence[IntArray], rows: Sequence[int], capacity: int) -> "ScriptedSession":
        return ScriptedSession(self, sum(rows), capacity)


class ScriptedSession:
    def __init__(self, engine: ScriptedEngine, rows: int, capacity: int) -> None:
        self.engine = engine
        self.vocabulary = engine.vocabulary
        self.capacity = capacity
        self.histories: list[History] = [()] * rows

    def probabilities(self, allowed: BoolArray | None = None) -> FloatArray:
        result = np.zeros((len(self.histories), self.engine.vocabulary), np.float32)
        for row, history in zip(result, self.histories, strict=True):
            for token, probability in self.engine.script(history).items():
                row[token] += probability
        if allowed is not None:
            result = np.where(allowed, result + 1e-9, 0.0).astype(np.float32)
            result /= result.sum(axis=1, keepdims=True)
        return result

    def sample(
        self, uniform: FloatArray, temperature: float, allowed: BoolArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        probabilities = self.probabilities(allowed)
        self.engine.batches.append(len(probabilities))
        chosen = (probabilities.cumsum(axis=1) > uniform[:, None]).argmax(axis=1).astype(np.int32)
        return chosen, probabilities[np.arange(len(chosen)), chosen]

    def feed(self, tokens: IntArray, counts: IntArray | None = None) -> None:
        fed = iter(tokens.tolist())
        each = [1] * len(self.histories) if counts is None else counts.tolist()
        self.histories = [(*h, *islice(fed, c)) for h, c in zip(self.histories, each, strict=True)]
        assert next(fed, None) is None
        assert max(map(len, self.histories), default=0) <= self.capacity

    def keep(self, rows: IntArray) -> None:
        self.histories = [self.histories[row] for row in rows]
