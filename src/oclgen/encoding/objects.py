"""One position per object: the atoms of `atoms`, to be pooled by their first argument.

Prompts are those of `atoms`; the networks add up the rows that have their first argument in common (those without
arguments are one more row), so that what is said of a thing is read in one place. That makes prompts shorter still
where much is said of each thing: a Labyrinth of sixteen cards has 18 rows instead of some 50.
"""

from typing import ClassVar

from oclgen.encoding.atoms import AtomsEncoding

FIRST_ARGUMENT = 2
"""The column of a prompt that says of what an atom speaks first; 0 there: of nothing."""


class ObjectsEncoding(AtomsEncoding):
    """Prompts as sets of atoms, grouped by the object they speak of."""

    name: ClassVar[str] = "objects"
