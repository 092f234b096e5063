"""A `Table` as Markdown, LaTeX (booktabs), CSV and HTML."""

import csv
import html
import io
from collections.abc import Iterator
from itertools import groupby

from oclgen.report.tables.table import Cell, Column, Row, Table

LATEX_SPECIALS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--", "·": r"$\cdot$", "Δ": r"$\Delta$",
    "≤": r"$\leq$", "−": "$-$", "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def markdown(table: Table) -> str:
    """A pipe table; group titles are put before column titles, the paper's rows are in italics."""
    titles = [f"{column.group} {column.title}".strip() for column in table.columns]
    marks = ["---:" if column.numbers else "---" for column in table.columns]
    lines = [f"| {' | '.join(pipe(title) for title in titles)} |", f"| {' | '.join(marks)} |"]
    for row in table.rows:
        cells = [pipe(superscript(cell.text, "<sup>", "</sup>")) for cell in row.cells]
        if row.source == "paper":
            cells = [f"*{cell}*" if cell else cell for cell in cells]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def pipe(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def superscript(text: str, opening: str, closing: str) -> str:
    """`10^-3` with its exponent raised."""
    base, caret, exponent = text.partition("^")
    return f"{base}{opening}{exponent}{closing}" if caret else text


def latex(table: Table) -> str:
    """A floating table; needs the packages booktabs and, for wide ones, graphicx."""
    align = "".join("r" if column.numbers else "l" for column in table.columns)
    lines = [
        r"\begin{table}[htb]",
        r"\centering",
        rf"\caption{{{latex_text(table.caption)}}}",
        rf"\label{{tab:{table.key}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        *latex_header(table),
        r"\midrule",
    ]
    for row in table.rows:
        if row.rule:
            lines.append(r"\midrule")
        lines.append(" & ".join(latex_cell(cell, row) for cell in row.cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}"]) + "\n"


def latex_header(table: Table) -> Iterator[str]:
    if any(column.group for column in table.columns):
        groups = list(spans(table.columns))
        yield " & ".join(rf"\multicolumn{{{width}}}{{c}}{{{latex_text(name)}}}" for name, width in groups) + r" \\"
        start = 1
        for name, width in groups:
            if name:
                yield rf"\cmidrule(lr){{{start}-{start + width - 1}}}"
            start += width
    yield " & ".join(latex_text(column.title) for column in table.columns) + r" \\"


def latex_cell(cell: Cell, row: Row) -> str:
    text = latex_text(cell.text)
    return rf"\textit{{{text}}}" if row.source == "paper" and text else text


def latex_text(text: str) -> str:
    base, caret, exponent = text.partition("^")
    plain = "".join(LATEX_SPECIALS.get(letter, letter) for letter in base)
    return f"{plain}$^{{{exponent}}}$" if caret else plain


def spans(columns: tuple[Column, ...]) -> Iterator[tuple[str, int]]:
    """Neighbouring columns of one group with their number."""
    for name, members in groupby(columns, key=lambda column: column.group):
        yield name, len(list(members))


def as_csv(table: Table) -> str:
    """One column per number; the first column says whether a row is ours or the paper's."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["source", *(name for column in table.columns for name in csv_names(column))])
    for row in table.rows:
        values: list[object] = [row.source]
        for column, cell in zip(table.columns, row.cells, strict=True):
            values += csv_values(column, cell)
        writer.writerow(values)
    return out.getvalue()


def csv_names(column: Column) -> list[str]:
    title = f"{column.group} {column.title}".strip()
    return [f"{title} {name}".strip() for name in column.numbers] or [title]


def csv_values(column: Column, cell: Cell) -> list[object]:
    if not column.numbers:
        return [cell.text]
    numbers = [*cell.numbers, *[None] * len(column.numbers)][: len(column.numbers)]
    return ["" if number is None else f"{number:.10g}" for number in numbers]


def html_table(table: Table) -> str:
    """A bare <table>; the page has the style sheet."""
    lines = ["<table>", "<thead>", *html_header(table), "</thead>", "<tbody>"]
    for row in table.rows:
        classes = " ".join(["paper"] * (row.source == "paper") + ["rule"] * row.rule)
        cells = "".join(html_cell(cell, column) for cell, column in zip(row.cells, table.columns, strict=True))
        lines.append(f'<tr class="{classes}">{cells}</tr>' if classes else f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def html_header(table: Table) -> Iterator[str]:
    if any(column.group for column in table.columns):
        groups = "".join(
            f'<th colspan="{width}" class="group">{html.escape(name)}</th>' for name, width in spans(table.columns)
        )
        yield f"<tr>{groups}</tr>"
    titles = "".join(
        f'<th class="{"number" if column.numbers else "text"}">{html.escape(column.title)}</th>'
        for column in table.columns
    )
    yield f"<tr>{titles}</tr>"


def html_cell(cell: Cell, column: Column) -> str:
    text = superscript(html.escape(cell.text), "<sup>", "</sup>")
    return f'<td class="{"number" if column.numbers else "text"}">{text}</td>'
