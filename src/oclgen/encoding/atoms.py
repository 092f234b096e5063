"""One position per atom: predicate, segment and one column per argument.

A prompt is an int32 array [atoms, 2 + slots]: predicate index, segment (0 state, 1 goal, 2 goal that must be
false), then for each argument slot the object's index among the object tokens plus one, 0 where the predicate
has no such argument. The rows are a set; they come sorted so that equal states give equal arrays.

Beside the paper, which uses `words`: prompts about three times shorter, and models that learn sooner.
"""

from typing import ClassVar

from oclgen.encoding.binding import Binding
from oclgen.encoding.prompts import Encoding, Ids, to_bytes
from oclgen.encoding.vocabulary import Vocabulary
from oclgen.interfaces import Atom


class AtomsEncoding(Encoding):
    """Prompts as sets of atoms."""

    name: ClassVar[str] = "atoms"

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.columns = 2 + vocabulary.slots

    def row(self, atom: Atom, segment: int, binding: Binding) -> bytes:
        shift = 1 - self.vocabulary.first_object
        arguments = [binding.token[name] + shift for name in atom[1:]]
        blank = [0] * (self.vocabulary.slots - len(arguments))
        return to_bytes([self.vocabulary.predicate_indices[atom[0]], segment, *arguments, *blank])

    def decode_prompt(
        self, array: Ids, binding: Binding
    ) -> tuple[frozenset[Atom], tuple[frozenset[Atom], frozenset[Atom]]]:
        segments: tuple[set[Atom], set[Atom], set[Atom]] = (set(), set(), set())
        shift = self.vocabulary.first_object - 1
        for index, segment, *arguments in array.tolist():
            predicate = self.vocabulary.predicates[index]
            names = (binding.object[argument + shift] for argument in arguments[: predicate.arity])
            segments[segment].add((predicate.name, *names))
        state, goal, goal_false = map(frozenset, segments)
        return state, (goal, goal_false)
