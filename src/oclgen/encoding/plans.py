"""Plans as tokens: operator, its arguments, next operator, ..., `<end>`. The same in all encodings.

The sequence a policy sees is the prompt, then `<actions>`, then these tokens.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from oclgen.encoding.binding import Binding
from oclgen.encoding.vocabulary import END, Vocabulary
from oclgen.interfaces import Action, Plan


class PlanTokens:
    """Actions <-> token ids of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def plan(self, actions: Iterable[Action], binding: Binding) -> NDArray[np.int32]:
        """The tokens of a plan with `<end>`, without `<actions>`."""
        ids = [token for action in actions for token in self.action(action, binding)]
        return np.array([*ids, END], np.int32)

    def action(self, action: Action, binding: Binding) -> list[int]:
        return [self.vocabulary.operator_ids[action[0]], *map(binding.token.__getitem__, action[1:])]

    def decode_plan(self, ids: Sequence[int] | NDArray[np.int32], binding: Binding) -> Plan:
        """The actions up to `<end>` or to the first token that continues no action; an unfinished one is dropped."""
        tokens = [int(token) for token in ids]
        operators = self.vocabulary.operators
        plan: list[Action] = []
        position = 0
        while position < len(tokens):
            index = tokens[position] - self.vocabulary.first_operator
            if not 0 <= index < len(operators):
                break
            after = position + 1 + operators[index].arity
            names = [binding.object.get(token) for token in tokens[position + 1 : after]]
            if len(tokens) < after or None in names:
                break
            plan.append((operators[index].name, *(name for name in names if name is not None)))
            position = after
        return tuple(plan)
