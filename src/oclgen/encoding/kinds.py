"""The encodings, one descriptor each: what depends on the encoding asks its descriptor, never compares names."""

from dataclasses import dataclass

from oclgen.errors import InputError


@dataclass(frozen=True, slots=True)
class EncodingKind:
    """One way to give states and plans to a network, and which checkpoints make up a model of it."""

    name: str
    checkpoints: tuple[str, ...]
    """Kinds of checkpoints, and the folders of a model that hold them: first the policy's, last the heuristic's."""
    has_vocabulary: bool
    """Whether objects have tokens of their own, so that a checkpoint needs a vocabulary."""


WORDS = EncodingKind("words", ("policy", "heuristic"), has_vocabulary=True)
RELATIONAL = EncodingKind("relational", ("relational",), has_vocabulary=False)
ENCODINGS = {each.name: each for each in (RELATIONAL, WORDS)}
CHECKPOINT_KINDS = tuple(kind for each in ENCODINGS.values() for kind in each.checkpoints)


def encoding_of(checkpoint_kind: str) -> EncodingKind:
    """The encoding that such checkpoints read."""
    for each in ENCODINGS.values():
        if checkpoint_kind in each.checkpoints:
            return each
    raise InputError(f"kind is {checkpoint_kind!r}, must be one of {', '.join(CHECKPOINT_KINDS)}")
