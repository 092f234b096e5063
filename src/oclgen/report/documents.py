"""A `Report` as files."""

import base64
from importlib import resources
from pathlib import Path

import jinja2

from oclgen.report.build import Report
from oclgen.report.evaluation import Evaluation
from oclgen.report.figures import Picture
from oclgen.report.properties import properties
from oclgen.report.render import as_csv, html_table, latex, latex_text, markdown
from oclgen.report.tables.table import Table
from oclgen.support.files import replacing

TITLE = "Benchmark report"
PAPER_NOTE = "Rows marked paper are the figures printed in the paper: ten minutes a problem on GPUs unless stated."


def write(report: Report, evaluation: Evaluation, out: Path) -> None:
    """Write all files of a report."""
    pictures = {picture.key: (picture.png(), picture.svg()) for picture in report.pictures()}
    put(out / "report.md", as_markdown(report).encode())
    put(out / "report.tex", as_latex(report).encode())
    put(out / "index.html", as_html(report, {key: svg for key, (_, svg) in pictures.items()}).encode())
    put(out / "properties", properties(evaluation).encode())
    if report.taskwise is not None:
        put(out / "taskwise.md", f"# {report.taskwise.title}\n\n{table_markdown(report.taskwise)}".encode())
    for table in report.tables():
        put(out / "tables" / f"{table.key}.csv", as_csv(table).encode())
    for key, (png, svg) in pictures.items():
        put(out / "figures" / f"{key}.png", png)
        put(out / "figures" / f"{key}.svg", svg)


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def as_markdown(report: Report) -> str:
    parts = [f"# {TITLE}\n"]
    if report.warnings:
        parts.append("> **Attention**\n>\n" + "\n".join(f"> - {line}" for line in report.warnings) + "\n")
    parts.append("\n".join(f"- {name}: {value}" for name, value in report.facts) + "\n")
    parts.append(f"{PAPER_NOTE}\n")
    for section in report.sections:
        parts.append(f"## {section.title}\n")
        parts += [item_markdown(item) for item in section.items]
    if report.taskwise is not None:
        parts.append(f"## {report.taskwise.title}\n\nSee [taskwise.md](taskwise.md).\n")
    if report.absent:
        parts.append("## Not shown, for lack of records\n")
        parts.append("\n".join(f"- {item.title} (`{item.key}`): {item.reason}" for item in report.absent) + "\n")
    return "\n".join(parts)


def item_markdown(item: Table | Picture) -> str:
    body = f"![{item.title}](figures/{item.key}.png)\n\n{item.caption}\n"
    return f"### {item.title}\n\n{table_markdown(item) if isinstance(item, Table) else body}"


def table_markdown(table: Table) -> str:
    return f"{table.caption} ([CSV](tables/{table.key}.csv))\n\n{markdown(table)}"


def as_latex(report: Report) -> str:
    """A document that compiles as it is, and from which single tables can be copied."""
    parts = [
        "\\documentclass{article}\n\\usepackage[margin=2cm]{geometry}\n\\usepackage{booktabs,graphicx}\n\\begin{document}\n"
    ]
    for section in report.sections:
        parts.append(f"\\section{{{latex_text(section.title)}}}\n")
        parts += [latex(item) if isinstance(item, Table) else picture_latex(item) for item in section.items]
        parts.append("\\clearpage\n")
    return "\n".join([*parts, "\\end{document}\n"])


def picture_latex(picture: Picture) -> str:
    return (
        "\\begin{figure}[htb]\n\\centering\n"
        f"\\includegraphics[width=\\linewidth]{{figures/{picture.key}.png}}\n"
        f"\\caption{{{latex_text(picture.caption)}}}\n\\label{{fig:{picture.key}}}\n\\end{{figure}}\n"
    )


def as_html(report: Report, images: dict[str, bytes]) -> str:
    """One self-contained file: styles, tables and pictures are inside."""
    text = resources.files("oclgen.report").joinpath("page.html").read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
    return template.render(
        title=TITLE,
        note=PAPER_NOTE,
        report=report,
        is_table=lambda item: isinstance(item, Table),
        table=html_table,
        image=lambda key: "data:image/svg+xml;base64," + base64.b64encode(images[key]).decode(),
    )
