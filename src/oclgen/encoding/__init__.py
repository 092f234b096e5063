"""States, goals and plans as numbers: `words` (the paper's tokens) and `relational` (objects without names)."""

from oclgen.encoding.binding import Binding, Goal, bind
from oclgen.encoding.vocabulary import Vocabulary, build_vocabulary, pools_from_problems
from oclgen.encoding.words import WordsEncoding

__all__ = ["Binding", "Goal", "Vocabulary", "WordsEncoding", "bind", "build_vocabulary", "pools_from_problems"]
