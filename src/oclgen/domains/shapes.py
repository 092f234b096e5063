"""States as shapes on a plane: what a moving picture shows, without how it looks.

A domain's `scenes.py`, with `scenes(states, goal, types) -> list[Scene]`, makes one scene of each state of a
trajectory. A scene maps a shape's id to the shape. A shape keeps its id from state to state, so that whoever draws can
let it slide to its new place. Coordinates are in cells, y downwards. `kind` says what a shape stands for; a second word
`home` says that it is where the goal wants it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """Where something is and what it stands for."""

    kind: str
    x: float
    y: float
    width: float = 1.0
    height: float = 1.0
    label: str = ""
    walls: str = ""
    """The closed sides of a card, of n, e, s and w."""
    hue: int = -1
    """Shapes of the same number have the same colour."""


Scene = dict[str, Shape]
Atoms = Collection[tuple[str, ...]]
Scenes = Callable[[Sequence[Atoms], Atoms, Mapping[str, str]], list[Scene]]
