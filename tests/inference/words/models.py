"""Checkpoints with random weights, and random prompts for them."""

from pathlib import Path
from typing import Any

import numpy as np

from oclgen.checkpoint import Checkpoint, ModelSettings, tensor_shapes
from oclgen.encoding.vocabulary import Pool, Symbol, Vocabulary
from oclgen.inference.engine import IntArray

VOCABULARY = Vocabulary(
    "toy",
    (Symbol("move", 2), Symbol("wait", 0)),
    (Symbol("at", 2), Symbol("between", 3), Symbol("happy", 0)),
    (),
    (Pool(("object",), tuple(f"o{i}" for i in range(17)), False),),
    (),
)


def random_checkpoint(kind: str, *, vocabulary: Vocabulary = VOCABULARY, seed: int = 0, **sizes: Any) -> Checkpoint:
    """Weights large enough that distributions are far from uniform."""
    shape: dict[str, Any] = {"layers": 2, "heads": 2, "width": 32, "inner": 64, "max_prompt": 60} | sizes
    shape = ({"max_plan": 40} if kind == "policy" else {"max_cost": 30}) | shape
    settings = ModelSettings(kind, "words", **shape)
    rng = np.random.default_rng(seed)
    weights: dict[str, Any] = {}
    for name, size in tensor_shapes(settings, vocabulary).items():
        deviation = 0.3 if len(size) == 1 else 1.5 * size[-1] ** -0.5
        centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        weights[name] = rng.normal(centre, deviation, size).astype(np.float32)
    return Checkpoint(Path("random"), settings, vocabulary, weights)


def random_prompt(rng: np.random.Generator, length: int, vocabulary: Vocabulary = VOCABULARY) -> IntArray:
    return rng.integers(0, vocabulary.size, (length, 1), np.int32)
