"""The paper's own figures (`paper.toml`), names and order of rows and domains."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any

IN_PAPERS_PROFILE = "-paper"


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One row of a table of the paper: its limit in seconds and the figures per domain."""

    label: str
    limit: float | None
    figures: dict[str, Any]


def in_papers_profile(label: str) -> str:
    """The label of the same method with the paper's algorithm and settings."""
    return label + IN_PAPERS_PROFILE


def base_label(label: str) -> str:
    """The label without the mark of the paper's profile."""
    return label.removesuffix(IN_PAPERS_PROFILE)


class Paper:
    """Reads the figures when first asked."""

    @cached_property
    def _tables(self) -> dict[str, Any]:
        return tomllib.loads(resources.files("oclgen.report").joinpath("paper.toml").read_text(encoding="utf-8"))

    @property
    def names(self) -> dict[str, str]:
        names: dict[str, str] = self._tables["names"]
        return names

    def name(self, label: str) -> str:
        """The paper's name of a method or a domain; other labels stay as they are."""
        return self.names.get(label, label)

    def ordered(self, labels: Iterable[str]) -> list[str]:
        """Labels that the paper names, in its order, then the others by alphabet."""
        order = {label: index for index, label in enumerate(self.names)}
        return sorted(labels, key=lambda label: (order.get(label, len(order)), label))

    def rows(self, table: str, label: str | None = None) -> list[PaperRow]:
        """A table's rows (those of one label), in the paper's order; empty where the paper has none."""
        return [
            PaperRow(row["label"], row.get("limit"), {key: row[key] for key in row.keys() - {"label", "limit"}})
            for row in self._tables.get(table, [])
            if label is None or row["label"] == label
        ]


PAPER = Paper()
