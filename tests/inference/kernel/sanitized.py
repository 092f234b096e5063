"""Runs the networks over odd sizes on the kernel library that is named; test_kernel.py compiles it with sanitizers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import numpy as np

from oclgen.inference.kernel import binding
from oclgen.inference.relational.engine import RelationalEngine, Rows
from oclgen.inference.words.heuristic_engine import NativeHeuristicEngine
from oclgen.inference.words.policy_engine import NativePolicyEngine
from tests.inference.relational.relational_reference import COUNTS, Shape, random_atoms, random_problem, random_weights
from tests.inference.words.models import VOCABULARY, random_checkpoint, random_prompt


def main(library: str, variant: str) -> None:
    binding.LIBRARY = Path(library)
    rng = np.random.default_rng(0)
    policy = NativePolicyEngine(random_checkpoint("policy", width=20, inner=13), variant)
    for rows in (1, 2, 7, 12, 33):
        prompts = [random_prompt(rng, length) for length in (1, 16, 17)]
        session = policy.open(prompts, [rows, 1, rows], 17)
        for _ in range(17):
            tokens, _ = session.sample(rng.random(2 * rows + 1, np.float32), 0.7)
            session.feed(tokens)
        session.keep(np.array([0, 0, rows], np.int32))
        session.probabilities(np.ones((3, VOCABULARY.size), np.bool_))
    heuristic = NativeHeuristicEngine(random_checkpoint("heuristic", width=20, inner=13), variant)
    heuristic.distributions([random_prompt(rng, length) for length in range(1, 50)])
    for distances in (False, True):
        run_relational(rng, variant, Shape(width=20, inner=13, relation=7, distances=distances))


def run_relational(rng: np.random.Generator, variant: str, shape: Shape) -> None:
    engine = RelationalEngine(shape, COUNTS, random_weights(shape), variant, threads=2)
    states = [(random_problem(rng, rows), random_atoms(rng, rows, 30)) for rows in (*range(2, 36), 600)]
    encoded = engine.encode_all(states)
    engine.costs(encoded)
    for rows, size in ((1, 2), (7, 17), (12, 18), (33, 33)):
        prompt = encoded[size - 2]
        session = engine.open([prompt, prompt], [rows, 1], 16)
        for _ in range(16):
            probabilities = session.probabilities()
            tokens, _ = session.sample(rng.random(rows + 1, np.float32), 0.7)
            assert (probabilities[np.arange(rows + 1), tokens] > 0.0).all()
            session.feed(tokens)
        session.keep(np.array([0, 0, rows], np.int32))
        session.probabilities(np.ones((3, session.vocabulary), np.bool_))
        sample_actions(engine, prompt, rows, rng)


def sample_actions(engine: RelationalEngine, prompt: Rows, rows: int, rng: np.random.Generator) -> None:
    session = engine.open([prompt], [rows], 16)
    live, last, read = np.arange(rows, dtype=np.int32), None, np.zeros(rows, np.int32)
    while len(live):
        tokens, lengths, _ = session.sample_actions(live, last, rng.random((17, rows), np.float32), 0.7, 17)
        last = np.zeros(rows, np.int32) if last is None else last
        last[live] = tokens[np.arange(len(live)), np.abs(lengths) - 1]
        read[live] += np.abs(lengths)
        live = live[(lengths > 0) & (read[live] < 17)]


if __name__ == "__main__":
    main(*sys.argv[1:])
