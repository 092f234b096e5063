"""Probabilities of given actions as the next one, each shared prefix of their tokens computed once.

Level by level through the trie of the actions' tokens: a row per distinct prefix, its cache continued from the
row of the prefix before it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from oclgen.inference.engine import PolicyEngine

MAX_ACTIONS = 512
"""Actions scored at once; bounds the memory of their caches."""


def action_priors(engine: PolicyEngine, prompt: Any, actions: Sequence[Sequence[int]]) -> tuple[list[float], int]:
    """The geometric mean of each action's token probabilities, normalised; and the number of rows computed."""
    order = sorted(range(len(actions)), key=lambda i: tuple(actions[i]))
    means = np.zeros(len(actions))
    rows = 0
    for first in range(0, len(order), MAX_ACTIONS):
        part = order[first : first + MAX_ACTIONS]
        means[part], used = geometric_means(engine, prompt, [tuple(actions[i]) for i in part])
        rows += used
    total = means.sum()
    if total <= 0.0:
        return [1.0 / len(actions)] * len(actions), rows
    return (means / total).tolist(), rows


def geometric_means(
    engine: PolicyEngine, prompt: Any, actions: Sequence[tuple[int, ...]]
) -> tuple["np.ndarray[tuple[int], np.dtype[np.float64]]", int]:
    """Of actions in sorted order."""
    lengths = np.array([len(action) for action in actions])
    session = engine.open([prompt], [1], int(lengths.max()))
    logarithms = np.zeros(len(actions))
    row_of: dict[tuple[int, ...], int] = {(): 0}
    rows = 1
    for depth in range(int(lengths.max())):
        probabilities = session.probabilities()
        deep = [i for i, action in enumerate(actions) if len(action) > depth]
        chosen = probabilities[[row_of[actions[i][:depth]] for i in deep], [actions[i][depth] for i in deep]]
        logarithms[deep] += np.log(np.maximum(chosen, np.finfo(np.float32).tiny))
        prefixes = list(dict.fromkeys(action[: depth + 1] for action in actions if len(action) > depth + 1))
        if prefixes:
            session.keep(np.array([row_of[prefix[:-1]] for prefix in prefixes], np.int32))
            session.feed(np.array([prefix[-1] for prefix in prefixes], np.int32))
            row_of = {prefix: row for row, prefix in enumerate(prefixes)}
            rows += len(prefixes)
    return np.exp(logarithms / lengths), rows
