"""Prompts of a task's states for one model, with what is remembered per task."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, cast
from weakref import WeakKeyDictionary

from oclgen.checkpoint import Checkpoint, load_checkpoint, require_kind
from oclgen.encoding.binding import BindableTask, Binding, bind
from oclgen.encoding.words import WordsEncoding
from oclgen.errors import UnsupportedError
from oclgen.inference.engine import IntArray
from oclgen.inference.rollout import Grammar
from oclgen.interfaces import Action, Atom, State, Task


class EncodableTask(Task, BindableTask, Protocol):
    """What the models need to know of a task (`oclgen.pddl.task.PddlTask` provides it)."""

    def atoms(self, state: State) -> Iterable[Atom]: ...


def open_checkpoint(source: Checkpoint | Path | str, kind: str) -> Checkpoint:
    """A checkpoint of that kind, read if it is only named."""
    if not isinstance(source, Checkpoint):
        return load_checkpoint(source, kind)
    require_kind(source.settings, kind, source.folder)
    return source


class Prompts:
    """Encodes states for one checkpoint.

    A prompt can be too long: an initial state that does not fit is refused; a later state that does not fit has no
    prompt.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._encoding = WordsEncoding(checkpoint.vocabulary)
        self._vocabulary = checkpoint.vocabulary
        self._longest = checkpoint.settings.max_prompt
        self._bindings: WeakKeyDictionary[Task, Binding] = WeakKeyDictionary()

    def binding(self, task: Task) -> Binding:
        known = self._bindings.get(task)
        if known is None:
            known = self._bindings[task] = self._bind(cast(EncodableTask, task))
        return known

    def prompts(self, task: Task, states: Sequence[State]) -> list[IntArray | None]:
        return [self.prompt(task, state) for state in states]

    def grammar(self, task: Task) -> Grammar:
        first = self._vocabulary.first_operator
        operators = {first + i: (each.name, each.arity) for i, each in enumerate(self._vocabulary.operators)}
        return Grammar(task, operators, self.binding(task).object, lambda action: self.tokens(task, action))

    def prompt(self, task: Task, state: State) -> IntArray | None:
        """The prompt of a state, or None where it is too long for the model."""
        rows = self._encoding.prompt_rows(cast(EncodableTask, task).atoms(state), self.binding(task))
        return None if len(rows) > self._longest else rows

    def tokens(self, task: Task, action: Action) -> list[int]:
        return self._encoding.action(action, self.binding(task))

    def _bind(self, task: EncodableTask) -> Binding:
        binding = bind(self._vocabulary, task)
        length = len(self._encoding.prompt_rows(task.atoms(task.initial_state), binding))
        if length > self._longest:
            raise UnsupportedError(
                f"initial state and goal take {length} words; this model of {self._vocabulary.domain}"
                f" reads at most {self._longest}"
            )
        return binding
