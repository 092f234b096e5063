"""States, goals and plans as numbers. `load` gives the encoding that a checkpoint names."""

from oclgen.encoding.atoms import AtomsEncoding
from oclgen.encoding.binding import Binding, Goal, bind
from oclgen.encoding.objects import ObjectsEncoding
from oclgen.encoding.prompts import Encoding
from oclgen.encoding.vocabulary import Vocabulary, build_vocabulary, pools_from_problems
from oclgen.encoding.words import WordsEncoding
from oclgen.errors import InputError

__all__ = ["Binding", "Encoding", "Goal", "Vocabulary", "bind", "build_vocabulary", "load", "pools_from_problems"]


KNOWN: dict[str, type[Encoding]] = {kind.name: kind for kind in (AtomsEncoding, ObjectsEncoding, WordsEncoding)}


def load(name: str, vocabulary: Vocabulary) -> Encoding:
    """The encoding called `name`, speaking `vocabulary`."""
    if name not in KNOWN:
        raise InputError(f"unknown encoding '{name}'; known: {', '.join(KNOWN)}")
    return KNOWN[name](vocabulary)
