"""A table as a value, which `render` writes as Markdown, LaTeX, CSV and HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from oclgen.report.statistics import Mean

Source = Literal["ours", "paper"]
NONE = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """The text for readers and the numbers for CSV."""

    text: str
    numbers: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """`group` spans neighbouring columns; `numbers` names the cell's numbers in CSV (none: a column of text)."""

    title: str
    group: str = ""
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of ours or of the paper; `rule` draws a line above it."""

    cells: tuple[Cell, ...]
    source: Source = "ours"
    rule: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """`key` is the paper's label of the table, or our own if the paper has none."""

    key: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"{self.key}: a row of {len(row.cells)} cells under {len(self.columns)} columns")


@dataclass(frozen=True, slots=True)
class Absent:
    """A table or figure that cannot be made, with what the records lack."""

    key: str
    title: str
    reason: str


def text_cell(text: str) -> Cell:
    return Cell(text)


def number_cell(value: float | None, digits: int = 2) -> Cell:
    return Cell(number_text(value, digits), (value,))


def count_cell(count: int | float) -> Cell:
    return Cell(f"{count:g}", (count,))


def count_text(count: float) -> str:
    """`12`; `12.67` where a problem counts by the share of its seeds."""
    return f"{round(count, 2):g}"


def of_cell(count: float, total: float) -> Cell:
    """`528 / 630`."""
    return Cell(f"{count_text(count)} / {total:g}", (count, total))


def error_cell(mean: float | None, error: float | None, digits: int = 2) -> Cell:
    """`43.88 ± 0.68`."""
    text = number_text(mean, digits)
    return Cell(text if mean is None or error is None else f"{text} ± {error:.{digits}f}", (mean, error))


def mean_cell(mean: Mean | None, digits: int = 2) -> Cell:
    return error_cell(None, None) if mean is None else error_cell(mean.mean, mean.error, digits)


def p_cell(value: float) -> Cell:
    """A probability, small ones in scientific notation."""
    if value >= 0.001:
        return Cell(f"{value:.3f}", (value,))
    mantissa, exponent = f"{value:.1e}".split("e")
    return Cell(f"{mantissa}·10^{int(exponent)}" if value > 0 else "0", (value,))


def number_text(value: float | None, digits: int) -> str:
    return NONE if value is None or math.isnan(value) else f"{value:.{digits}f}"


def blank(columns: Sequence[Column]) -> tuple[Cell, ...]:
    """Cells for what was not measured."""
    return tuple(Cell(NONE, tuple(None for _ in column.numbers)) for column in columns)
