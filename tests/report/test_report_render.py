"""One table in four notations."""

import csv
import io

import pytest

from oclgen.report.render import as_csv, html_table, latex, markdown
from oclgen.report.tables.table import Cell, Column, Row, Table, error_cell, of_cell, p_cell, text_cell

TABLE = Table(
    "demo_key",
    "Demo",
    "50 % of A & B_1",
    (Column("Method"), Column("Length", "Blocks", ("", "error")), Column("Optimal", "Blocks", ("", "of"))),
    (
        Row((text_cell("A* | <b>"), error_cell(12.5, 0.25), of_cell(3, 4))),
        Row((text_cell("paper"), error_cell(None, None), Cell("–", (None, None))), source="paper", rule=True),
    ),
)


def test_markdown_escapes_bars_and_stars_and_sets_the_paper_in_italics() -> None:
    assert markdown(TABLE).splitlines() == [
        "| Method | Blocks Length | Blocks Optimal |",
        "| --- | ---: | ---: |",
        r"| A\* \| <b> | 12.50 ± 0.25 | 3 / 4 |",
        "| *paper* | *–* | *–* |",
    ]


def test_latex_escapes_its_specials_and_keeps_its_columns() -> None:
    text = latex(TABLE)
    assert r"\caption{50 \% of A \& B\_1}" in text
    assert r"\multicolumn{2}{c}{Blocks}" in text and r"\cmidrule(lr){2-3}" in text
    assert r"A* \textbar{} \textless{}b\textgreater{} & 12.50 $\pm$ 0.25 & 3 / 4 \\" in text
    assert r"\textit{paper} & \textit{--} & \textit{--} \\" in text
    assert text.count("{") == text.count("}")
    assert text.index(r"\midrule", text.index("12.50")) < text.index("paper")


def test_csv_has_bare_numbers_and_says_whose_they_are() -> None:
    lines = list(csv.reader(io.StringIO(as_csv(TABLE))))
    assert lines == [
        ["source", "Method", "Blocks Length", "Blocks Length error", "Blocks Optimal", "Blocks Optimal of"],
        ["ours", "A* | <b>", "12.5", "0.25", "3", "4"],
        ["paper", "paper", "", "", "", ""],
    ]


def test_html_escapes_text_and_marks_rows() -> None:
    text = html_table(TABLE)
    assert "A* | &lt;b&gt;" in text
    assert '<tr class="paper rule">' in text
    assert '<th colspan="2" class="group">Blocks</th>' in text


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.500"), (0.001, "0.001"), (5.4e-136, "5.4·10^-136"), (0.0, "0"), (1.0, "1.000")]
)
def test_probabilities_are_written_as_the_paper_writes_them(value: float, text: str) -> None:
    assert p_cell(value).text == text


def test_exponents_are_raised() -> None:
    table = Table("k", "t", "c", (Column("p", numbers=("",)),), (Row((p_cell(2e-9),)),))
    assert "2.0·10<sup>-9</sup>" in markdown(table)
    assert "2.0·10<sup>-9</sup>" in html_table(table)
    assert r"2.0$\cdot$10$^{-9}$" in latex(table)


def test_a_row_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(ValueError, match="k: a row of 0 cells"):
        Table("k", "t", "c", (Column("a"),), (Row(()),))
