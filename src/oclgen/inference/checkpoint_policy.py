"""Policies from the checkpoints of each kind of model."""

from collections.abc import Sequence
from pathlib import Path

from oclgen.checkpoint import Checkpoint
from oclgen.inference.devices import policy_engine
from oclgen.inference.engine import PolicyEngine
from oclgen.inference.policy import ModelPolicy
from oclgen.inference.relational.encoded_states import EncodedState, RelationalModel
from oclgen.inference.rollout import Grammar
from oclgen.inference.words.prompts import Prompts, open_checkpoint
from oclgen.interfaces import Action, State, Task


def checkpoint_policy(
    checkpoint: Checkpoint | Path | str,
    *,
    decoding: str = "free",
    temperature: float = 1.0,
    whole: bool = False,
    device: str = "cpu",
    engine: PolicyEngine | None = None,
) -> ModelPolicy:
    """A policy with a vocabulary; `engine` replaces the device's own."""
    checkpoint = open_checkpoint(checkpoint, "policy")
    engine = engine or policy_engine(checkpoint, device)
    return ModelPolicy(Prompts(checkpoint), engine, decoding=decoding, temperature=temperature, whole=whole)


def relational_policy(
    model: RelationalModel, *, decoding: str = "free", temperature: float = 1.0, whole: bool = False
) -> ModelPolicy:
    return ModelPolicy(RelationalReader(model), model.engine, decoding=decoding, temperature=temperature, whole=whole)


class RelationalReader:
    """Prompts are encoded states; arguments are pointers to rows."""

    def __init__(self, model: RelationalModel) -> None:
        self._model = model

    def prompts(self, task: Task, states: Sequence[State]) -> list[EncodedState]:
        return self._model.states(task).rows(states)

    def tokens(self, task: Task, action: Action) -> list[int]:
        return self._model.states(task).tokens(action)

    def grammar(self, task: Task) -> Grammar:
        schema, states = self._model.checkpoint.schema, self._model.states(task)
        operators = {index: (name, arity) for index, (name, arity) in enumerate(schema.operators.items())}
        objects = {schema.first_row + row: name for name, row in states.graph.rows.items()}
        return Grammar(task, operators, objects, states.tokens)
