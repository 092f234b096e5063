"""Runs both networks over odd sizes on the kernel library that is named; test_kernel.py compiles it with sanitizers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import numpy as np

from oclgen.inference import kernel
from oclgen.inference.native import NativePolicyEngine
from oclgen.inference.native_heuristic import native_heuristic_engine
from tests.inference.models import VOCABULARY, random_checkpoint, random_prompt


def main(library: str, variant: str) -> None:
    kernel.LIBRARY = Path(library)
    rng = np.random.default_rng(0)
    for encoding in ("atoms", "objects", "words"):
        policy = NativePolicyEngine(random_checkpoint("policy", encoding, width=20, inner=13), variant)
        for rows in (1, 2, 7, 12, 33):
            prompts = [random_prompt(rng, encoding, length) for length in (1, 16, 17)]
            session = policy.open(prompts, [rows, 1, rows], 17)
            for _ in range(17):
                tokens, _ = session.sample(rng.random(2 * rows + 1, np.float32), 0.7)
                session.feed(tokens)
            session.keep(np.array([0, 0, rows], np.int32))
            session.probabilities(np.ones((3, VOCABULARY.size), np.bool_))
        heuristic = native_heuristic_engine(random_checkpoint("heuristic", encoding, width=20, inner=13), variant)
        heuristic.distributions([random_prompt(rng, encoding, length) for length in range(1, 50)])


if __name__ == "__main__":
    main(*sys.argv[1:])
