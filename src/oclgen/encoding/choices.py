"""Which tokens of an action are choices, given the actions that are applicable.

The token sequences of the applicable actions form a trie. Where a branch has one continuation only, the next token says
nothing: a shift of a row in Labyrinth takes some twenty tokens, of which two are choices. Models of `choices` learn and
write these alone; what lies between follows from the task.
"""

from collections.abc import Sequence
from typing import TypeAlias

PLANS = ("whole", "choices")
"""What a policy writes: every token of a plan (the paper), or those that had an alternative."""

Choices: TypeAlias = dict[int, "Choices"]
"""A trie of token sequences: which tokens may come next, and what may come after each."""


def trie(sequences: Sequence[Sequence[int]]) -> Choices:
    root: Choices = {}
    for sequence in sequences:
        branch = root
        for token in sequence:
            branch = branch.setdefault(token, {})
    return root


def chosen(sequence: Sequence[int], choices: Choices) -> list[int]:
    """The tokens of a sequence in the trie that were not its branch's only one."""
    kept = []
    for token in sequence:
        if len(choices) > 1:
            kept.append(token)
        choices = choices[token]
    return kept
