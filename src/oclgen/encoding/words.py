"""The paper's tokens: one per word, in PlanGPT's layout.

`<begin>` sorted facts `<goal>` sorted goals, then (first token of the plan) `<actions>`, the plan, `<end>`. A
fact is its predicate and its objects. A goal that must be false is preceded by `<not>`. A prompt is an int32
array [words, 1].

Paper: Section 3 (tokenization of PlanGPT).
"""

from typing import ClassVar

from oclgen.encoding.binding import Binding
from oclgen.encoding.prompts import GOAL_FALSE, Encoding, Ids, to_bytes
from oclgen.encoding.vocabulary import BEGIN, GOAL, NOT
from oclgen.interfaces import Atom


class WordsEncoding(Encoding):
    """Prompts as sequences of words."""

    name: ClassVar[str] = "words"
    columns = 1
    before_state: ClassVar[bytes] = to_bytes([BEGIN])
    before_goal: ClassVar[bytes] = to_bytes([GOAL])

    def row(self, atom: Atom, segment: int, binding: Binding) -> bytes:
        predicate = self.vocabulary.first_predicate + self.vocabulary.predicate_indices[atom[0]]
        words = [predicate, *(binding.token[name] for name in atom[1:])]
        return to_bytes([NOT, *words] if segment == GOAL_FALSE else words)

    def decode_prompt(
        self, array: Ids, binding: Binding
    ) -> tuple[frozenset[Atom], tuple[frozenset[Atom], frozenset[Atom]]]:
        words = array[:, 0].tolist()
        middle = words.index(GOAL)
        state, _ = self._decode_atoms(words[1:middle], binding)
        return state, self._decode_atoms(words[middle + 1 :], binding)

    def _decode_atoms(self, words: list[int], binding: Binding) -> tuple[frozenset[Atom], frozenset[Atom]]:
        wanted: set[Atom] = set()
        unwanted: set[Atom] = set()
        position = 0
        while position < len(words):
            target = unwanted if words[position] == NOT else wanted
            position += words[position] == NOT
            predicate = self.vocabulary.predicates[words[position] - self.vocabulary.first_predicate]
            after = position + 1 + predicate.arity
            target.add((predicate.name, *(binding.object[word] for word in words[position + 1 : after])))
            position = after
        return frozenset(wanted), frozenset(unwanted)
